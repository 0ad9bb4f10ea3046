"""Page work, which makes pages as slow as the papers' pages, and the measurement of costs."""
