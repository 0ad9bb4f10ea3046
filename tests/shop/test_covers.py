"""Covers are well-formed, the same every time, and show their titles."""

import xml.etree.ElementTree as ElementTree

import pytest

from shop.catalogue.books import books
from shop.catalogue.covers import cover_svg

SVG = "{http://www.w3.org/2000/svg}"


def test_well_formed_and_titled():
    for book in books(count=300):
        root = ElementTree.fromstring(cover_svg(book.id, book.title, book.author, book.shelf))
        assert root.tag == f"{SVG}svg"
        assert root.findtext(f"{SVG}title") == f"{book.title} by {book.author}"


def test_the_same_every_time_and_not_all_alike():
    assert cover_svg(1, "A", "B", "crime") == cover_svg(1, "A", "B", "crime")
    assert len({cover_svg(id, "A", "B", "crime") for id in range(50)}) == 50


def test_nothing_gets_out_of_a_title():
    svg = cover_svg(1, "<script>&\"'", "O'Neil & Co", "crime")
    assert "<script>" not in svg
    ElementTree.fromstring(svg)


@pytest.mark.usefixtures("no_page_work")
def test_served_with_an_etag(visitor):
    response = visitor.get("/covers/5.svg")
    assert response.status_code == 200
    assert response["Content-Type"] == "image/svg+xml"
    assert "immutable" in response["Cache-Control"]
    again = visitor.get("/covers/5.svg", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_no_cover_without_a_book(visitor):
    assert visitor.get("/covers/999999.svg").status_code == 404
