"""The rules of every page of the shop: sound HTML that all people can use."""

from html.parser import HTMLParser

VOID = {"area", "br", "hr", "img", "input", "link", "meta", "wbr"}
OPTIONAL_END = {"p", "li", "dt", "dd", "option", "tr", "td", "th"}


class Page(HTMLParser):
    """The parts of a page that the checks need. Raises AssertionError for unbalanced tags."""

    def __init__(self, html):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.title = ""
        self._open: list[str] = []
        assert html.lstrip().lower().startswith("<!doctype html>")
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"attribute twice in <{tag}>: {names}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> inside <{self._open[-1]}>"
        self._open.pop()

    def handle_data(self, data):
        if self._open and self._open[-1] == "title":
            self.title += data

    def all(self, *tags):
        """Return the attributes of all elements of these tags."""
        return [attributes for tag, attributes in self.elements if tag in tags]


def check(html):
    """Assert the rules of every page; return the page for further checks."""
    page = Page(html)
    assert page.all("html")[0].get("lang") == "en"
    assert page.title.strip()
    assert any(meta.get("name") == "viewport" for meta in page.all("meta"))
    for landmark in ("header", "main"):
        assert len(page.all(landmark)) == 1, landmark
    assert len(page.all("h1")) == 1
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids)), sorted(id for id in ids if ids.count(id) > 1)
    for image in page.all("img"):
        assert "alt" in image, image
    labelled = {label.get("for") for label in page.all("label")}
    for field in page.all("input", "select", "textarea"):
        if field.get("type") != "hidden":
            assert field.get("id") in labelled, f"no label for {field}"
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            for wanted in (attributes.get(name) or "").split():
                assert wanted in ids, f"{name}={wanted} points nowhere"
    for form in page.all("form"):
        assert (form.get("method") or "get") in ("get", "post")
    sources = [a.get("src") or a.get("href") for a in page.all("img", "link", "script")]
    assert all(source and source.startswith("/") for source in sources), "loads from elsewhere"
    return page
