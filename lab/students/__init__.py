"""Create, check, test and compare students' own policies."""
