"""What every view is made of: markup that cannot be forged, the style sheet, and the limits of a page.

The rule of the whole layer stands here: a string that is not `Html` is escaped where it enters an element, and only the
elements and attributes named below exist. A view can therefore be read for what it shows, not for what it lets through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import msgspec

TAGS = frozenset(
    """a b bdi blockquote br code del details div em h4 h5 h6 hr img ins li mark meter ol p pre s small span strong
    style summary table tbody td th thead tr ul""".split()
)
"""Every element that a view may make. All but `style` stay in notebooks that a front end does not trust."""

ATTRIBUTES = frozenset(
    "alt class colspan dir href id max min open rel rowspan scope span src start style target title value width".split()
)
_VOID = frozenset({"br", "hr", "img"})
_VERBATIM = frozenset({"pre", "code", "style"})

LEFT = "text-align:left;vertical-align:top"
"""Inline, because front ends align cells to the right, and because it survives where style sheets are taken out."""
RIGHT = "float:right"

LIMIT = 256 * 1024
"""Bytes of one output; what is longer is cut, and says so."""

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]"
)
_ID = re.compile(r"ln-[0-9a-f]{8}-\d+-\d+")
"""An id that a view may give: nothing else on a page has such a one, and no text of a conversation is in it."""
_TYPESET = re.compile(r"[$\\]")


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


class View(msgspec.Struct, frozen=True):
    """Something to show: HTML, and what stands for it where there is none."""

    html: str
    text: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": str(self.html), "text/plain": self.text}


def visible(source: str) -> str:
    """Returns text a reader can trust to be what it seems: one kind of line end, nothing hidden in it.

    Control characters (a terminal would obey them), characters that turn the reading order around, and halves of
    surrogate pairs become U+FFFD.
    """
    return _HIDDEN.sub("\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))


def text(source: str) -> Html:
    """Returns text as markup: escaped, and closed to the front end's search for formulas.

    A dollar or a backslash in an element of its own starts no formula: MathJax does not look across elements.
    """
    return Html(_TYPESET.sub(r"<span>\g<0></span>", escape(visible(source), quote=False)))


def verbatim(source: str) -> Html:
    """Returns text as markup for `pre` and `code`, where front ends look for no formulas."""
    return Html(escape(visible(source), quote=False))


def join(parts: Iterable[str], between: str = "") -> Html:
    """Joins markup and texts; the texts are escaped."""
    return Html(text(between).join([part if isinstance(part, Html) else text(part) for part in parts]))


def tag(name: str, *children: str, **attributes: Any) -> Html:
    """Returns an element.

    Args:
        name: One of `TAGS`.
        *children: Markup as it is, texts escaped.
        **attributes: Some of `ATTRIBUTES`, written with `_` behind the name where it is a word of Python. None and
            False leave one out, True writes the bare name.

    Raises:
        ValueError: If the element or an attribute is none that a view may make: an error of the view.
    """
    if name not in TAGS:
        raise ValueError(f"a view makes no <{name}>")
    written = "".join([_attribute(key.rstrip("_"), value) for key, value in attributes.items()])
    if name in _VOID:
        return Html(f"<{name}{written}>")
    escaped = verbatim if name in _VERBATIM else text
    inner = "".join([child if isinstance(child, Html) else escaped(child) for child in children])
    return Html(f"<{name}{written}>{inner}</{name}>")


def _attribute(name: str, value: Any) -> str:
    if name not in ATTRIBUTES or (name == "id" and value is not None and not _ID.fullmatch(str(value))):
        raise ValueError(f"a view writes no attribute {name}")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'


def fold(summary: str, *body: str, is_open: bool = False, class_: str | None = None, id_: str | None = None) -> Html:
    """Returns something to open: it works in saved files, without scripts, and in notebooks nobody trusts."""
    return tag("details", tag("summary", summary), *body, class_=class_, id_=id_, open=is_open)


def badge(word: str, kind: str = "note") -> Html:
    """Returns a word in a frame. `kind` chooses the colour (good, warn, bad, note); the word alone says it all."""
    return tag("b", word, class_=f"tag {kind}")


def doc_link(url: str | None, label: str = "why") -> Html:
    """Returns a link to a page of documentation, or nothing if it is no web address."""
    if url is None or not re.fullmatch(r"https?://[^\s\"'<>\\\x00-\x1f]{1,2000}", url):
        return Html()
    return tag("a", label, href=url, target="_blank", rel="noopener noreferrer")


def short(source: str, most: int) -> str:
    """Returns the text, or its beginning and how much is missing."""
    return source if len(source) <= most else f"{source[:most]}… ({len(source) - most:,} more)"


def line(source: str, most: int = 60) -> str:
    """Returns the beginning of a text as one line."""
    flat = " ".join(source[: most * 4].split())
    return flat if len(flat) <= most and len(source) <= most * 4 else f"{flat[:most].rstrip()}…"


def count(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 block`, `2 blocks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(octets: int) -> str:
    """Returns a number of bytes as a reader says it."""
    return f"{octets} bytes" if octets < 1024 else f"{round(octets / 1024):,} KB"


def fitted(render: Callable[[int], Html], most: int = 160_000, limit: int = LIMIT) -> Html:
    """Returns an output that is no longer than a limit.

    Args:
        render: Makes the output with so many characters of text in it.
        most: The characters to begin with; they are lowered by as much as the output was too long, until it fits.
        limit: Bytes of the output.
    """
    shown = render(most)
    while (octets := len(shown.encode())) > limit and most > 100:
        most = most * limit * 19 // (octets * 20)
        shown = render(most)
    return shown


class Room:
    """The characters of text that an output has room for, used up from the top."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, source: str, most: int | None = None) -> tuple[str, int]:
        """Returns what of a text is shown, and how many characters are not."""
        room = max(0, self.left if most is None else min(self.left, most))
        shown = source[:room]
        self.left -= len(shown)
        return shown, len(source) - len(shown)


def page(*body: str, sections: tuple[str, ...] = (), rules: str = "") -> Html:
    """Returns one output: its style sheet, once, and the body under the class `llmn` and the names of its sections.

    Args:
        *body: Markup, or texts to escape.
        sections: Parts of the style sheet beside `base`.
        rules: Further rules, made by a view from numbers only.
    """
    return Html(sheet(*sections, rules=rules) + part(*body, sections=sections))


def sheet(*sections: str, rules: str = "") -> Html:
    """Returns a style sheet: `base`, further sections, and rules that a view makes from numbers only."""
    return tag("style", Html("".join([style_section(name) for name in ("base", *sections)]) + rules))


def part(*body: str, sections: tuple[str, ...] = ()) -> Html:
    """Returns a piece of a live view: a body as `page` makes it, without the sheet, which stands once in the view."""
    return tag("div", *body, class_=" ".join(("llmn", *sections)))


@cache
def style_section(name: str) -> str:
    """Returns one part of the style sheet, without comments and line ends.

    Raises:
        KeyError: If the sheet has no such part.
    """
    return _sections()[name]


@cache
def _sections() -> dict[str, str]:
    sheet = resources.files("llmneutral_widgets").joinpath("static/llmneutral.css").read_text(encoding="utf-8")
    found = re.split(r"/\*# (\w+)[^*]*\*/", sheet)
    return {name: _compact(rules) for name, rules in zip(found[1::2], found[2::2], strict=True)}


def _compact(rules: str) -> str:
    bare = re.sub(r"/\*[^*]*\*/", "", rules)
    return re.sub(r"\s*([{};,>])\s*", r"\1", re.sub(r"\s+", " ", bare)).replace(";}", "}").replace(": ", ":").strip()
