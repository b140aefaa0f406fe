"""Equations of the pages as MathML, which browsers set by themselves: nothing is fetched, no script is run.

A page writes `$...$` within a line and `$$...$$` as a line of its own, in LaTeX.
"""

import html
import re

from latex2mathml.converter import convert

BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Called by mkdocs for every page."""
    content = BLOCK.sub(lambda found: convert(html.unescape(found[1]).strip(), display="block"), content)
    return INLINE.sub(lambda found: convert(html.unescape(found[1]).strip()), content)
