"""A model's Markdown as HTML, inside one block: code, formulas, links, emphasis, line ends; everything else as typed.

One walk over the text from token to token. What is open (brackets, emphasis) is remembered by its place in the
output, and either closed later or left as it was typed. Every look ahead is bounded, so the time is linear in the
length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from html import escape

from llmneutral_widgets.views.tex import is_harmless

_AHEAD = 1000
"""Characters that are searched for the end of a formula."""
_TARGET = 2000
"""Characters of a link's target, with its title."""
_LABEL_PARTS = 100
_LABEL = 2000
_OPEN = 8
"""Emphasis of one kind that may be open at a time: an earlier one is then left as typed."""

_TOKEN = re.compile(
    r"(?P<ticks>`+)|\\(?P<escaped>[!-/:-@\[-`{-~\n])"
    r"|<(?P<auto>https?://[^\s<>]*|[\w.+-]{1,64}@[\w.-]{1,255})>"
    r"|(?P<bare>https?://(?:[^\s<>\"'`*()\[\]|]+|\([^\s<>\"'`*()\[\]|]*\))+)"
    r"|(?P<dollar>\$\$?)|(?P<open>!?\[)|(?P<close>\])|(?P<run>\*+|_+|~~)|(?P<line>\n)"
)
_DESTINATION = re.compile(r"<[^\s<>]*>|[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)?")
_TITLE = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_SAFE = re.compile(r"(?:https?://|mailto:)[^\s\"'<>\\\x00-\x1f]+", re.IGNORECASE)
_TYPESET = re.compile(r"[$\\]")
_ENDS = {"(": "\\)", "[": "\\]"}
_OPENED = tuple([(f"<{name}>", f"</{name}>") for name in ("em", "strong", "s")])


def inline(text: str) -> str:
    """Returns the text of one block as HTML. It holds no control characters any more (`page.visible`)."""
    return Inline(text).html()


def link_target(url: str) -> str | None:
    """Returns the target, if a click on it only opens a page or a letter."""
    return url if _SAFE.fullmatch(url) else None


def formula(tex: str, mark: str) -> str:
    """Returns a formula between dollars; as code, if it is one that could do more than be set."""
    return f"<span>{mark}{escape(tex, quote=False)}{mark}</span>" if is_harmless(tex) else _code(tex)


def _plain(text: str) -> str:
    """Text as typed. A dollar or a backslash in an element of its own starts no formula."""
    escaped = escape(text, quote=False)
    return _TYPESET.sub(r"<span>\g<0></span>", escaped) if "$" in escaped or "\\" in escaped else escaped


def _code(text: str) -> str:
    return f"<code>{escape(text.strip(' ') or text, quote=False)}</code>"


def _link(target: str, label: str) -> str:
    """A link, or the label with a target that is refused as code behind it."""
    safe = link_target(target)
    if safe is None:
        return f"{label} {_code(target)}" if target else label
    return f'<a href="{escape(safe)}" target="_blank" rel="noopener noreferrer">{label}</a>'


def _is_balanced(label: str) -> bool:
    """Whether emphasis opens and closes inside a label; if not, the brackets are text."""
    return all([label.count(opening) == label.count(closing) for opening, closing in _OPENED])


def _destination(text: str, at: int) -> tuple[str, int] | None:
    """The target in the parentheses behind a label, and where they end. A title is left out."""
    limit = min(len(text), at + _TARGET)
    if text[at : at + 1] != "(":
        return None
    found = _DESTINATION.match(text, _after_spaces(text, at + 1, limit), limit)
    if found is None:
        return None
    end = _after_spaces(text, found.end(), limit)
    if end > found.end() and (title := _TITLE.match(text, end, limit)):
        end = _after_spaces(text, title.end(), limit)
    target = found[0][1:-1] if found[0][:1] == "<" else found[0]
    return (target, end + 1) if text[end : end + 1] == ")" else None


def _after_spaces(text: str, at: int, limit: int) -> int:
    while at < limit and text[at] == " ":
        at += 1
    return at


class _Opener:
    """Stars, underscores or tildes that may open emphasis: their place in the output, and what is left of them."""

    __slots__ = ("left", "opened", "where")

    def __init__(self, where: int, left: int) -> None:
        self.where = where
        self.left = left
        self.opened = ""


class Inline:
    """One walk over a text: `at` is where it stands, `out` what it has written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.brackets: list[tuple[int, str]] = []
        self.openers: dict[str, list[_Opener]] = {"*": [], "_": [], "~": []}
        self.ticks: dict[int, list[int]] | None = None

    def html(self) -> str:
        """Walks to the end and returns what was written."""
        while found := _TOKEN.search(self.text, self.at):
            if found.start() > self.at:
                self.out.append(_plain(self.text[self.at : found.start()]))
            self.at = found.end()
            kind = found.lastgroup
            if kind is not None:
                TOKENS[kind](self, found[kind])
        self.out.append(_plain(self.text[self.at :]))
        return "".join(self.out)

    def code_span(self, mark: str) -> None:
        """Ticks: code up to the next run of as many, or as typed."""
        if self.ticks is None:
            self.ticks = {}
            for found in re.finditer("`+", self.text):
                self.ticks.setdefault(len(found[0]), []).append(found.start())
        ends = self.ticks.get(len(mark), [])
        after = bisect_right(ends, self.at - 1)
        if after < len(ends):
            self.out.append(_code(self.text[self.at : ends[after]]))
            self.at = ends[after] + len(mark)
        else:
            self.out.append(mark)

    def escaped(self, char: str) -> None:
        r"""A backslash: a line end, a formula in `\(…\)` or `\[…\]`, or the sign behind it as typed."""
        if char == "\n":
            self.out.append("<br>\n")
            return
        end = self.text.find(_ENDS[char], self.at, self.at + _AHEAD) if char in _ENDS else -1
        if end > self.at:
            self.out.append(formula(self.text[self.at : end], "$" if char == "(" else "$$"))
            self.at = end + 2
        else:
            self.out.append(_plain(char))

    def address(self, target: str) -> None:
        """An address between angle brackets."""
        self.out.append(_link(target if "://" in target else f"mailto:{target}", _plain(target)))

    def bare_address(self, found: str) -> None:
        """An address in the running text; the punctuation behind it is the sentence's."""
        url = found.rstrip(".,;:!?_~")
        self.at -= len(found) - len(url)
        self.out.append(_link(url, _plain(url)))

    def dollar(self, mark: str) -> None:
        """Dollars: a formula by Pandoc's rule, and only if the next dollar ends it; money otherwise."""
        end = self._formula_end(mark)
        if end:
            self.out.append(formula(self.text[self.at : end], mark))
            self.at = end + len(mark)
        else:
            self.out.append(_plain(mark))

    def _formula_end(self, mark: str) -> int:
        text, at = self.text, self.at
        end = text.find(mark, at, at + _AHEAD)
        if end <= at:
            return 0
        if mark == "$$":
            return end
        touches = not text[at].isspace() and not text[end - 1].isspace() and text[end - 1] != "\\"
        return end if touches and not text[end + 1 : end + 2].isdigit() else 0

    def open_bracket(self, mark: str) -> None:
        """A bracket that may begin a label."""
        self.brackets.append((len(self.out), mark))
        self.out.append(mark)

    def close_bracket(self, mark: str) -> None:
        """A bracket that ends a label, if a target follows; a picture becomes a link to it, and is never fetched."""
        where, opened = self.brackets.pop() if self.brackets else (len(self.out), "")
        found = _destination(self.text, self.at) if opened and len(self.out) <= where + _LABEL_PARTS else None
        label = "".join(self.out[where + 1 :]) if found else ""
        if found is None or len(label) > _LABEL or not _is_balanced(label) or not (label or found[0]):
            self.out.append(mark)
            return
        target, self.at = found
        del self.out[where:]
        for openers in self.openers.values():
            while openers and openers[-1].where >= where:
                openers.pop()
        if opened == "![":
            label = f"image: {label or 'untitled'}"
        # A label that is an address is a link already: the one that is read is the one that is followed.
        shown = _plain(target)
        self.out.append(f"{label} {_link(target, shown)}" if "<a " in label else _link(target, label or shown))

    def emphasis(self, run: str) -> None:
        """Stars, underscores, tildes: they close the nearest open run of their kind, and open with what is left."""
        char, left = run[0], len(run)
        if left > 3:
            self.out.append(run)
            return
        start = self.at - left
        before, after = self.text[start - 1] if start else "", self.text[self.at : self.at + 1]
        if before and not before.isspace() and not (char == "_" and after.isalnum()):
            left = self._close(char, left)
        if not left:
            return
        if after and not after.isspace() and not (char == "_" and before.isalnum()):
            openers = self.openers[char]
            openers.append(_Opener(len(self.out), left))
            del openers[:-_OPEN]
        self.out.append(char * left)

    def _close(self, char: str, left: int) -> int:
        openers = self.openers[char]
        while left and openers:
            opener = openers[-1]
            use = min(2, left, opener.left)
            name = "s" if char == "~" else "strong" if use == 2 else "em"
            opener.left -= use
            opener.opened = f"<{name}>{opener.opened}"
            self.out[opener.where] = char * opener.left + opener.opened
            for others in self.openers.values():
                while others and others[-1].where > opener.where:
                    others.pop()
            if not opener.left:
                openers.pop()
            self.out.append(f"</{name}>")
            left -= use
        return left

    def line_end(self, mark: str) -> None:
        """A line end: two spaces before it break the line."""
        breaks = bool(self.out) and self.out[-1].endswith("  ")
        if self.out:
            self.out[-1] = self.out[-1].rstrip(" ")
        self.out.append("<br>\n" if breaks else "\n")


TOKENS: dict[str, Callable[[Inline, str], None]] = {
    "ticks": Inline.code_span,
    "escaped": Inline.escaped,
    "auto": Inline.address,
    "bare": Inline.bare_address,
    "dollar": Inline.dollar,
    "open": Inline.open_bracket,
    "close": Inline.close_bracket,
    "run": Inline.emphasis,
    "line": Inline.line_end,
}
