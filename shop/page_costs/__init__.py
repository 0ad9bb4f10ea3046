"""Page work, which makes pages cost as much as LIFO-Pri's pages, and the measurement of costs."""
