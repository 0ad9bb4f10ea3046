"""The bookshop: catalogue, cart, checkout, the eight page types, page work and the shop's
controller.
"""
