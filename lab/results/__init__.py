"""Results: the folders in which experiments keep everything they make."""
