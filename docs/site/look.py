"""Fails if a page of the site would load something from elsewhere.

    look.py DIRECTORY
"""
import html.parser
import pathlib
import re
import sys

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
faults = []


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.file = file

    def handle_starttag(self, tag, attributes):
        address = dict(attributes).get(LOADING.get(tag)) or ""
        if re.match(r"([a-z]+:)?//", address):
            faults.append(f"{self.file} loads {address}")


pages = sorted(pathlib.Path(sys.argv[1]).rglob("*.html"))
for file in pages:
    Page(file).feed(file.read_text())
for file in pathlib.Path(sys.argv[1]).rglob("*.css"):
    for address in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]*)", file.read_text()):
        faults.append(f"{file} loads {address}")
sys.exit("\n".join(faults) or None)
