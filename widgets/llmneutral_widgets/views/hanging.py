"""Lines of JSON as markup: a line that is too long for its column goes on further in than it began.

Spaces and line ends stay in the text, so that it reads as JSON, and is copied as such, also without a style sheet.
"""

from __future__ import annotations

import re

from llmneutral_widgets.views.page import Html, join, tag, verbatim

FITS = 16
"""Characters of a line that the narrowest column has room for."""
_DEEPEST = 10
"""Spaces that the rest of a line is indented by, at most, beside two: narrow columns have no more room."""
_FIRST = re.compile(r" +\S[^\w\s\"]*")
_OPENING = re.compile(r"( *(?:\"(?:[^\"\\]|\\.){0,200}\": )?)(\"[^\w\s\"]+)")


def hanging(line: str, *, is_marked: bool = False) -> Html:
    """Returns a line with its end; a long one hangs.

    Args:
        line: The line, with the spaces before it.
        is_marked: Whether there is a problem in it.
    """
    bare = line.lstrip(" ")
    pad = len(line) - len(bare)
    shown = _unbroken(line, pad) if len(line) > FITS else verbatim(line)
    if is_marked:
        shown = join([Html(" " * pad), tag("mark", verbatim(bare))])
    if len(line) <= FITS:
        return Html(f"{shown}\n")
    return tag("span", shown, Html("\n"), class_=f"i{min(pad // 2 * 2, _DEEPEST) + 2}")


def _unbroken(line: str, pad: int) -> Html:
    """A line that does not break between its spaces and a first word of any length, nor behind an opening quote."""
    if found := _OPENING.match(line):
        at, end = (found.start(2), found.end()) if found[1].strip() else (0, found.end())
    elif pad and pad + len(line[pad:].partition(" ")[0]) > FITS and (first := _FIRST.match(line)):
        at, end = 0, first.end()
    else:
        return verbatim(line)
    return join([verbatim(line[:at]), tag("span", verbatim(line[at:end])), verbatim(line[end:])])
