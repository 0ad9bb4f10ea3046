"""The playground: the simulator in a visitor's browser."""
