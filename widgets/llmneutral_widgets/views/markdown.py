"""A model's Markdown as HTML that can neither run nor fetch anything, whatever shows it: the blocks.

Safe by construction: every element is written by this file and by `inline`, every character of the source is escaped,
and no attribute is ever made of source text, except a link's target that was checked and a fence's language, which is
letters and digits. What is not understood is shown as typed: raw HTML, references, footnotes.

Linear in time: no pattern goes back over the text, every search is bounded or taken once, and nesting ends at `DEPTH`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape

from llmneutral_widgets.views.inline import formula, inline
from llmneutral_widgets.views.page import Html, visible

DEPTH = 10
"""Quotes and lists inside one another; what is deeper is shown as typed."""
_FORMULA_LINES = 60
_CELL = '<{0} style="text-align:left">{1}</{0}>'

_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])( +|$)")
_TASK = re.compile(r"\[([ xX])\] ")
_LANGUAGE = re.compile(r"[^A-Za-z0-9_+#.-]")
_BAR = re.compile(r"(?<!\\)\|")

Lines = list[str]
Block = Callable[[Lines, int, int], "tuple[str, int] | None"]
"""Reads a block that begins at a line: its HTML and the line after it, or None if it is no such block."""


def html(source: str) -> Html:
    """Returns a whole text.

    Only these elements occur: `p h4 h5 h6 hr br blockquote ul ol li table thead tbody tr th td pre code span strong
    em s a`, and only these attributes: `href` (http, https, mailto) with `target` and `rel`, `start`,
    `class="language-…"`, `style="text-align:left"`.
    """
    return Html("".join(_blocks(visible(source).expandtabs(4).split("\n"), 0)))


def _blocks(lines: Lines, depth: int) -> Iterator[str]:
    """The first kind that fits reads on; a paragraph always fits."""
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        for block in BLOCKS:
            found = block(lines, at, depth)
            if found is not None:
                shown, at = found
                yield shown
                break


def _until(lines: Lines, at: int, ends: Callable[[str], bool]) -> int:
    """The first line from `at` on that ends a block, or the end of the text."""
    return next((i for i in range(at, len(lines)) if ends(lines[i])), len(lines))


# ----------------------------------------------------------------------------------------------------------------------
# What a line is


def _fence(text: str) -> str:
    """The ticks or tildes that open a fence, or nothing."""
    if text[:3] not in ("```", "~~~"):
        return ""
    mark = text[: len(text) - len(text.lstrip(text[0]))]
    return "" if text[0] == "`" and "`" in text[len(mark) :] else mark


def _heading(text: str) -> int:
    level = len(text) - len(text.lstrip("#"))
    return level if 1 <= level <= 6 and text[level : level + 1] in ("", " ") else 0


def _is_rule(text: str) -> bool:
    if text[0] not in "-*_":
        return False
    bare = text.replace(" ", "")
    return len(bare) >= 3 and not bare.strip(bare[0])


def _is_delimiter(line: str) -> bool:
    """Whether a line stands between a table's head and its body."""
    return "-" in line and "|" in line and all(map(_is_dashes, line.strip().strip("|").split("|")))


def _is_dashes(cell: str) -> bool:
    bare = cell.strip()
    return "-" in bare and not bare.removeprefix(":").removesuffix(":").strip("-")


def _opens(line: str, depth: int) -> bool:
    """Whether another block begins at a line, so that it goes on with neither a paragraph nor an item."""
    text = line.strip()
    if not text or _fence(text) or _heading(text) or _is_rule(text) or text in ("$$", "\\["):
        return True
    return depth < DEPTH and (text[0] == ">" or _ITEM.match(line) is not None)


def _interrupts(line: str, depth: int) -> bool:
    """Whether a line ends a paragraph: an empty item does not, nor does a number but 1 (`2026. A good year.`)."""
    if not _opens(line, depth):
        return False
    item = _ITEM.match(line)
    return item is None or _is_rule(line.strip()) or (item[2][:-1] in ("", "1") and item.end() < len(line))


# ----------------------------------------------------------------------------------------------------------------------
# The blocks


def _code(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    """A fence; one that is still open, in the middle of a stream, reaches to the end."""
    text = lines[at].strip()
    mark = _fence(text)
    if not mark:
        return None
    end = _until(lines, at + 1, lambda line: len(line.strip()) >= len(mark) and not line.strip().strip(mark[0]))
    indent = len(lines[at]) - len(lines[at].lstrip(" "))
    body = [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines[at + 1 : end]]
    language = _LANGUAGE.sub("", text[len(mark) :].strip().split(" ")[0])[:20]
    return _pre(body, language), end + 1


def _indented(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    if not lines[at].startswith("    "):
        return None
    end = _until(lines, at, lambda line: bool(line.strip()) and not line.startswith("    "))
    body = [line[4:] for line in lines[at:end]]
    while not body[-1].strip():
        body.pop()
    return _pre(body, ""), end


def _pre(body: Lines, language: str) -> str:
    kind = f' class="language-{language}"' if language else ""
    return f"<pre><code{kind}>{escape(chr(10).join(body), quote=False)}</code></pre>"


def _title(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    text = lines[at].strip()
    level = _heading(text)
    if not level:
        return None
    title = text[level:].strip()
    bare = title.rstrip("#")
    shown = min(6, level + 3)
    return f"<h{shown}>{inline(bare.rstrip() if not bare or bare[-1] == ' ' else title)}</h{shown}>", at + 1


def _rule(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    return ("<hr>", at + 1) if _is_rule(lines[at].strip()) else None


def _display(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    r"""A formula that stands alone, on one or several lines: `$$ … $$` or `\[ … \]`."""
    text = lines[at].strip()
    if text[:2] not in ("$$", "\\["):
        return None
    last = "$$" if text[0] == "$" else "\\]"
    body = [text[2:]]
    for i in range(at, min(len(lines), at + _FORMULA_LINES)):
        if i > at:
            body.append(lines[i].strip())
        if body[-1].endswith(last):
            body[-1] = body[-1][:-2]
            return f"<p>{formula(chr(10).join(body).strip(), '$$')}</p>", i + 1
        if last in body[-1] or not lines[i].strip() or (i > at and body[-1].startswith("\\[")):
            return None
    return None


def _quote(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    if depth >= DEPTH or not lines[at].lstrip().startswith(">"):
        return None
    end = _until(lines, at, lambda line: not line.lstrip().startswith(">"))
    inner = [line.lstrip()[1:].removeprefix(" ") for line in lines[at:end]]
    return f"<blockquote>{''.join(_blocks(inner, depth + 1))}</blockquote>", end


def _table(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    if "|" not in lines[at] or at + 1 >= len(lines) or not _is_delimiter(lines[at + 1]):
        return None
    end = _until(lines, at + 2, lambda line: "|" not in line)
    body = "".join([_row(line, "td") for line in lines[at + 2 : end]])
    return f"<table><thead>{_row(lines[at], 'th')}</thead><tbody>{body}</tbody></table>", end


def _row(line: str, name: str) -> str:
    cells = _BAR.split(line.strip().removeprefix("|").removesuffix("|"))
    return "<tr>" + "".join([_CELL.format(name, inline(c.strip().replace("\\|", "|"))) for c in cells]) + "</tr>"


def _list(lines: Lines, at: int, depth: int) -> tuple[str, int] | None:
    """Items of one kind, numbered or not; an item owns the lines that are indented below it."""
    first = _ITEM.match(lines[at])
    if first is None or depth >= DEPTH:
        return None
    is_numbered = first[2][0].isdigit()
    items: list[str] = []
    while at < len(lines) and (item := _ITEM.match(lines[at])) and item[2][0].isdigit() == is_numbered:
        if items and _is_rule(lines[at].strip()):
            break
        body, at = _item(lines, at, item, depth)
        items.append(f"<li>{_tight(body, depth)}</li>")
    if is_numbered:
        return f'<ol start="{int(first[2][:-1])}">{"".join(items)}</ol>', at
    return f"<ul>{''.join(items)}</ul>", at


def _item(lines: Lines, at: int, item: re.Match[str], depth: int) -> tuple[Lines, int]:
    """The lines of an item without their indentation, and the line after it."""
    indent = item.end() if len(item[3]) <= 4 else item.end(2) + 1
    body = [lines[at][indent:]]
    at += 1
    while at < len(lines) and _belongs(lines, at, depth):
        line = lines[at]
        body.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
        at += 1
    while body and not body[-1].strip():
        body.pop()
    return body, at


def _belongs(lines: Lines, at: int, depth: int) -> bool:
    """Whether a line goes on with the item above it. Two spaces are enough: models count differently."""
    line = lines[at]
    if not line.strip():
        after = lines[at + 1] if at + 1 < len(lines) else ""
        return after.startswith("  ") or _ITEM.match(after) is not None
    if line.startswith("  "):
        return True
    return bool(lines[at - 1].strip()) and not _opens(line, depth)


def _tight(body: Lines, depth: int) -> str:
    """An item's blocks; a single paragraph is set without its element, so that the list stays close."""
    box = ""
    if body and (task := _TASK.match(body[0])):
        box = "☐ " if task[1] == " " else "☑ "
        body = [body[0][task.end() :], *body[1:]]
    parts = list(_blocks(body, depth + 1))
    if parts and parts[0].startswith("<p>") and not any([part.startswith("<p>") for part in parts[1:]]):
        parts[0] = parts[0][3:-4]
    return box + "".join(parts)


def _paragraph(lines: Lines, at: int, depth: int) -> tuple[str, int]:
    end = _until(lines, at + 1, lambda line: _interrupts(line, depth))
    return f"<p>{inline(chr(10).join([line.lstrip() for line in lines[at:end]]).rstrip())}</p>", end


BLOCKS: tuple[Block, ...] = (
    _code,
    _indented,
    _title,
    _rule,
    _display,
    _quote,
    _list,
    _table,
    _paragraph,
)
