"""Drawing: colours, figure style, kinds of plot, and tables; see ../README.md."""
