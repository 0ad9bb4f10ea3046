"""Results: the folders in which experiments keep all their files."""
