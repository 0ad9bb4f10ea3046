"""The ad server: contracts, slots, banners drawn by roulette (docs/ads.md).

It is a separate Django project, served by a separate process. Source: ad_server.txt, section IV.
"""
