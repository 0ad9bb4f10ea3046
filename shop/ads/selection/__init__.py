"""The selection of banners: the search for candidates by threads, and the roulette."""
