"""The ad server: contracts, slots, and banners chosen by roulette (ad_server.txt, section IV;
docs/ads.md).

The ad server is a separate Django project in separate processes.
"""
