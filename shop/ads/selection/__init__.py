"""The selection of banners: candidates, the roulette and its threads."""
