"""What may stand in an output, written down a second time: a test that asked the views for it would prove nothing."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

HOSTILE: dict[str, str] = json.loads((Path(__file__).parent / "hostile_markdown.json").read_text(encoding="utf-8"))
"""Texts that ran a script, fetched from outside or redirected the page when a front end showed them as Markdown."""

OWN_ATTACKS = {
    "bare-environment": r"\begin{equation}\href{javascript:window.__hit=1}{x}\end{equation}",
    "environment-without-mark": r"a \begin{align}\style{position:fixed}{x}\end{align} b",
    "mml-token": r"$\mmlToken{mi}[href='javascript:window.__hit=1']{x}$",
    "define": r"$\def\a{\href}\a{javascript:window.__hit=1}{x}$",
    "let": r"$\let\a\href \a{javascript:window.__hit=1}{x}$",
    "control-in-formula": "$\\hr\u0000ef{javascript:window.__hit=1}{x}$",
    "formula-over-two-lines": "$$\n\\href{javascript:window.__hit=1}{x}\n$$",
    "formula-in-brackets": r"\[\href{javascript:window.__hit=1}{x}\]",
    "rule-over-the-page": r"$\rule{9999em}{9999em}$",
    "language": '```"><img/src=x/onerror=window.__hit=1>\nx\n```',
    "language-quote": '~~~x" onmouseover="window.__hit=1\nx\n~~~',
    "empty-label": '[](https://a.example/"><img>)',
    "label-is-target": "[https://good.example](https://evil.invalid/)",
    "angle-target": '[c](<https://a.example/" onclick="window.__hit=1>)',
    "auto-quote": '<https://a.example/"onmouseover="window.__hit=1>',
    "mail-quote": '<a"onmouseover=1@a.example>',
    "mixed-case": "[c](JaVaScRiPt:window.__hit=1)",
    "control-in-scheme": "[c](java\u0001script:window.__hit=1)",
    "newline-in-scheme": "[c](java\nscript:window.__hit=1)",
    "no-scheme": "[c](//evil.invalid/x)",
    "vbscript": "[c](vbscript:msgbox)",
    "file": "[c](file:///etc/passwd)",
    "right-to-left": "\u202e<gpj.exe>\u202c",
    "isolate": "\u2066a\u2069\u200f",
    "terminal": "\u001b[2J\u001b]0;title\u0007",
    "c1-control": "\u009b31m",
    "lone-surrogate": "a\ud800b",
    "list-number": "999999999. <b>x</b>",
    "cell": '|a|\n|-|\n|" onmouseover="window.__hit=1|',
    "emphasis-in-tag": "<im*g src=x onerro*r=1>",
    "code-in-tag": "<img `src=x` onerror=1>",
    "comment": "<!--><script>window.__hit=1</script>-->",
    "cdata": "<![CDATA[<script>window.__hit=1</script>]]>",
    "plaintext": "<plaintext>",
    "template": "<template><script>window.__hit=1</script></template>",
    "noscript": '<noscript><p title="</noscript><img src=x onerror=window.__hit=1>">',
    "math-element": "<math><mtext><style><img src=x onerror=window.__hit=1></style></mtext></math>",
    "entity": "&lt;script&gt;&#60;script&#62;",
    "unclosed": "<img src=x onerror=window.__hit=1 ",
    "nested-label": "[a [b](https://a.example) *c](https://b.example) d*",
    "crossing": "*a [b* c](https://a.example) *d",
    "deep-quote": ">" * 60 + "<script>",
    "deep-list": "\n".join("  " * i + "- <script>" for i in range(40)),
}
"""Attacks that the reference's list does not have."""

MARKDOWN_TAGS = set(
    "p h4 h5 h6 hr br blockquote ul ol li table thead tbody tr th td pre code span strong em s a".split()
)
MARKDOWN_ATTRIBUTES = [
    r' href="(?:https?://|mailto:)[^"<>\s]+" target="_blank" rel="noopener noreferrer"',
    r' start="\d+"',
    r' class="language-[A-Za-z0-9_+#.-]+"',
    r' style="text-align:left"',
    r"",
]
VIEW_TAGS = MARKDOWN_TAGS | set("b bdi del details div img ins mark meter small style summary".split())
VIEW_ATTRIBUTES = {
    "class": r"[a-z0-9 +#._-]+|language-[A-Za-z0-9_+#.-]+",
    "title": r"[^\"<>]*",
    "dir": r"auto",
    "open": r"",
    "colspan": r"\d+",
    "scope": r"col|row",
    "style": r"text-align:(?:left|right)(?:;vertical-align:top)?|float:right|max-width:160px",
    "id": r"ln-[0-9a-f]{8}-\d+-\d+",
    "href": r"(?:https?://|mailto:)[^\"<>\s]+|#ln-[0-9a-f]{8}-\d+-\d+",
    "target": r"_blank",
    "rel": r"noopener noreferrer",
    "start": r"\d+",
    "src": r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}",
    "alt": r"[^\"<>]*",
    "value": r"[\d.]+",
    "min": r"\d",
    "max": r"\d",
}
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PIECE = re.compile(r"<[^<>]*>|[^<>]+|[<>]")


class _Collector(HTMLParser):
    """Elements and attributes as a parser sees them, not as a pattern does."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.sheets = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def parsed(output: str) -> list[tuple[str, dict[str, str | None]]]:
    """Returns every element of an output with its attributes."""
    collector = _Collector()
    collector.feed(output)
    collector.close()
    return collector.found


def outside_markdown(output: str) -> list[str]:
    """Returns what of rendered Markdown is outside the closed set."""
    bad = []
    for piece in _PIECE.findall(output):
        if piece[0] not in "<>":
            continue
        match = re.fullmatch(r"<(/?)([a-z0-9]+)([^<>]*)>", piece)
        if match is None or match[2] not in MARKDOWN_TAGS:
            bad.append(piece)
            continue
        if not any(re.fullmatch(form, match[3]) for form in ([""] if match[1] else MARKDOWN_ATTRIBUTES)):
            bad.append(piece)
    return bad + HIDDEN.findall(output)


def outside_views(output: str) -> list[str]:
    """Returns what of a view's output is outside the closed set; the style sheet is looked at by itself."""
    sheets = re.findall(r"<style>(.*?)</style>", output, re.DOTALL)
    bad = [sheet for sheet in sheets if "<" in sheet or "url(" in sheet or "@import" in sheet]
    body = re.sub(r"<style>.*?</style>", "", output, flags=re.DOTALL)
    for name, attributes in parsed(body):
        if name not in VIEW_TAGS:
            bad.append(f"<{name}>")
        for key, value in attributes.items():
            form = VIEW_ATTRIBUTES.get(key)
            if form is None or not re.fullmatch(form, html.escape(value or "", quote=True)):
                bad.append(f"<{name} {key}={value!r}>")
    # A parser forgives; a stray bracket does not count for it, but it would for another one.
    bad += [piece for piece in _PIECE.findall(body) if piece in "<>"]
    return bad + HIDDEN.findall(body)


def is_well_nested(output: str) -> bool:
    """Whether every element is closed where it should be."""
    stack: list[str] = []
    for closing, name in re.findall(r"<(/?)([a-z0-9]+)[^<>]*>", output):
        if name in ("hr", "br", "img"):
            continue
        if not closing:
            stack.append(name)
        elif not stack or stack.pop() != name:
            return False
    return not stack


def depth(output: str) -> int:
    """Returns how deep elements lie in one another at most."""
    deepest = now = 0
    for closing, name in re.findall(r"<(/?)([a-z0-9]+)[^<>]*>", output):
        if name not in ("hr", "br", "img"):
            now += -1 if closing else 1
            deepest = max(deepest, now)
    return deepest
