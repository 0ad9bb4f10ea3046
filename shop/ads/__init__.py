"""The ad server: contracts, slots, and banners chosen by roulette (ad_server.txt, section IV;
docs/ads.md).

It is a separate Django project in a separate process.
"""
