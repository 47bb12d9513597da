"""Copies the pages into a directory for Sphinx, and makes their links those of the site.

    stage.py DIRECTORY REPOSITORY      REPOSITORY is the address of files that are not on the site, or empty
"""
import os
import pathlib
import re
import shutil
import sys

target, repository = pathlib.Path(sys.argv[1]), sys.argv[2]
# The parts of the contents, and the pages of each.
CONTENTS = {
    "Start": ["start/client", "start/author", "start/operator"],
    "Clients": ["sessions", "clients", "updates", "problems", "compatibility"],
    "Apps": ["authoring", "signatures", "pattern", "sign-in", "signals", "console"],
    "Operation": ["operating", "settings", "capacity", "containers", "kubernetes", "scaling", "backup", "secrets", "metrics",
                  "logging", "tracing"],
    "Reliance": ["guarantees", "consistency", "security", "compared"],
    "Project": ["CHANGELOG", "design", "testing", "Benchmarks/README", "CONTRIBUTING", "releasing"],
}
# Where each file of the repository is on the site.
places = {path: path.relative_to("docs") for path in pathlib.Path("docs").rglob("*.md")}
START = pathlib.Path("docs/start/index.md")
places[START] = pathlib.Path("index.md")
places |= {path: path.relative_to("docs") for path in pathlib.Path("docs/images").iterdir()}
places |= {pathlib.Path(name): pathlib.Path(name) for name in ("CHANGELOG.md", "CONTRIBUTING.md", "Benchmarks/README.md")}
listed = {page for pages in CONTENTS.values() for page in pages}
if unlisted := [str(place) for place in places.values()
                if place.suffix == ".md" and str(place) != "index.md" and str(place.with_suffix("")) not in listed]:
    sys.exit(f"in no part of the contents, in docs/site/stage.py: {', '.join(unlisted)}")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")


def link(page, match):
    """A link as it is on the site."""
    text, address = match.groups()
    if re.match(r"[a-z]+:|#", address):
        return match[0]
    path, _, heading = address.partition("#")
    file = pathlib.Path(os.path.normpath(page.parent / path))
    if not file.exists():
        sys.exit(f"{page}: {address} leads nowhere")
    if file in places:
        relative = os.path.relpath(places[file], places[page].parent)
        return f"{text}({relative}{'#' + heading if heading else ''})"
    if text.startswith("!"):
        shutil.copy(file, (target / places[page]).parent / file.name)
        return f"{text}({file.name})"
    return f"{text}({repository}/{file})" if repository else text[1:-1]


def pieces(text):
    """The text, and whether each piece of it may have links: code has none."""
    for number, piece in enumerate(re.split(r"(^ *```.*?^ *```$)", text, flags=re.MULTILINE | re.DOTALL)):
        yield piece, number % 2 == 0


for file, place in places.items():
    (target / place).parent.mkdir(parents=True, exist_ok=True)
    if file.suffix != ".md":
        shutil.copy(file, target / place)
        continue
    text = "".join(
        LINK.sub(lambda match: link(file, match), piece) if has_links else piece
        for piece, has_links in pieces(file.read_text()))
    if file == START:
        for heading, pages in CONTENTS.items():
            entries = "\n".join(f"/{page}" for page in pages)
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{entries}\n```\n"
    (target / place).write_text(text)
