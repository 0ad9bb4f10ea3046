"""The ad server: contracts, slots, banners drawn by roulette (docs/ads.md).

A Django project of its own, served by a process of its own. Source: ad_server.txt, section IV.
"""
