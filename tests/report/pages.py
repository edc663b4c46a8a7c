"""What a reader of a report can see."""

import re
from html.parser import HTMLParser

TEXT_FILES = ("*.html", "*.csv", "*.txt", "*.json", "tables/*", "figures/*.svg")


class Page(HTMLParser):
    """What a browser would see: tags with attributes, and the text outside script and style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.inside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and tag == self.inside[-1]:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def words(self):
        return re.sub(r"\s+", " ", " ".join(self.text))


def texts(folder):
    for pattern in TEXT_FILES:
        for path in folder.glob(pattern):
            yield path, path.read_text(encoding="utf-8")
