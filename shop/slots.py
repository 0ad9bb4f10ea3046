"""The shop as a publisher: its name, and the slots that each of its eight pages has.

Owns: what the shop (`banners`) and the ad server (`ads/shop_pages`) both have to know of it. Must
not know: Django, how a banner is asked for.
"""

PUBLISHER = "Doorbuster Bookshop"
SIZES = {"desk": "728x90", "phone": "234x60"}
"""One slot for either kind of browser; a page shows one of the two."""
