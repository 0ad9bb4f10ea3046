"""Results: the folders in which experiments store all their files."""
