"""The selection of banners: the search for candidates with threads, and the roulette."""
