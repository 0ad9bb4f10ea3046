"""The playground: an experiment that can run in a visitor's browser."""
