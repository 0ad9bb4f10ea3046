"""The bookshop: catalogue, cart, checkout, page types, page work and the shop's controller."""
