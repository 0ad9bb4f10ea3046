"""Page work, which makes pages cost as much as in the LIFO-Pri paper; measurements of costs."""
