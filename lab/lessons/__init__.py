"""The parser of the lab sheets in docs/labs."""
