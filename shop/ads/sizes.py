"""The advertising industry's standard sizes of banners and slots."""

from typing import NamedTuple


class Size(NamedTuple):
    """The width and height of a banner, in CSS pixels."""

    width: int
    height: int


SIZES: dict[str, Size] = {
    "468x60": Size(468, 60),  # full banner
    "234x60": Size(234, 60),  # half banner
    "728x90": Size(728, 90),  # leaderboard
    "300x250": Size(300, 250),  # medium rectangle
    "125x125": Size(125, 125),  # square button
    "160x600": Size(160, 600),  # wide skyscraper
}
NUMBER_OF = {name: number for number, name in enumerate(SIZES)}
"""The number that stands for a size in the inventory, by the size's name."""
