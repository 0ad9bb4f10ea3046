"""The shop as a publisher: its name, and the slots that each of its eight pages has.

The shop (`banners`) and the ad server (`ads/shop_pages`) both use them.
"""

PUBLISHER = "Doorbuster Bookshop"
SIZES = {"desk": "728x90", "phone": "234x60"}
"""The slot for each kind of browser; a page shows one of the two."""
