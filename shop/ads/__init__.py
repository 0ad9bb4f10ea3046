"""The ad server: contracts, slots, and banners chosen by roulette (docs/ads.md).

In this package, "the paper" is *QoS in Parallelized E-Commerce Systems* (Diniz et al., 2000).
"""
