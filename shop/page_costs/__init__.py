"""Page work, which makes pages take as long as the papers' pages, and the measurement of costs."""
