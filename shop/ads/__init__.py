"""The ad server: contracts, slots, and banners chosen by roulette (docs/ads.md).

It is a separate Django project, served by a separate process. Source: ad_server.txt, section IV.
"""
