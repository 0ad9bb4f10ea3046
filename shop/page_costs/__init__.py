"""Page work, which makes pages cost as much as in the LIFO-Pri paper, and measurements of costs."""
