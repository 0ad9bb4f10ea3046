"""Page work, which makes pages as expensive as the papers' pages, and the measurement of costs."""
