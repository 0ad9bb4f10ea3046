"""The ad server: contracts, slots, and banners chosen by roulette (docs/ads.md).

The ad server is a separate Django project in separate processes. In this package, "the paper" is
*QoS in Parallelized E-Commerce Systems* (Diniz et al., 2000). Section IV has the design.
"""
