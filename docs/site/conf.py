"""Sphinx's settings for the site; `scripts/site` runs it."""
import re

from sphinx.search.en import SearchEnglish

project = "coordinatord"
copyright = "the authors of coordinatord, under the MIT licence"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
# GitHub's Markdown, and the names that it gives to headings.
myst_heading_anchors = 4
myst_enable_extensions = ["strikethrough"]
# Pygments does not know all of Swift.
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_title = "coordinatord"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"


def is_searched(language, word):
    """Sphinx searches for no numbers; here one searches for the statuses of answers."""
    return word not in language.stopwords and (not word.isdigit() or re.fullmatch("[1-5][0-9][0-9]", word))


SearchEnglish.word_filter = is_searched
