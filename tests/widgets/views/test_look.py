"""The views in a real browser: nothing runs, nothing is fetched, everything can be read, in both themes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views import markdown
from llmneutral_widgets.views.answer import comparison_page, exchange_page
from llmneutral_widgets.views.configs import configs_page
from llmneutral_widgets.views.deltas import REPLAY_SECTIONS, deltas_page, replay_part
from llmneutral_widgets.views.page import sheet, style_section
from llmneutral_widgets.views.payload import comparison
from llmneutral_widgets.views.spending import spending_part
from llmneutral_widgets.views.stack import stack_page
from llmneutral_widgets.views.transcript import Said, transcript_page
from llmneutral_widgets.views.usage import usage_page
from tests.widgets.closed_set import HOSTILE, OWN_ATTACKS
from tests.widgets.samples import RECORD, ROWS, STREAM, column, conversions, png, stack
from tests.widgets.views.test_hostile import CONFIG

pytestmark = pytest.mark.browser

FLAGS = [
    *"--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking".split(),
    *"--disable-component-update --disable-sync --hide-scrollbars --window-size=1100,900".split(),
    *["--virtual-time-budget=2000", "--dump-dom", "--host-resolver-rules=MAP * ~NOTFOUND"],
]
"""The last one keeps the browser's own calls on this machine, too."""
THEMES = {
    "light": {"font": "rgba(0, 0, 0, 0.87)", "page": "white", "brand": "#1976d2", "link": "#1976d2"},
    "dark": {"font": "#fff", "page": "#111", "brand": "#64b5f6", "link": "#64b5f6"},
    "none": {},
}
"""What JupyterLab 4 sets; `none` is a page that sets nothing."""
STATES = {"success": "#388e3c", "warn": "#f57c00", "error": "#d32f2f"}

READ = """
const paper = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
const canvas = paper.getContext('2d', {willReadFrequently: true});
const rgba = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map(x => x / 255); };
const over = (top, under) => top.slice(0, 3).map((x, i) => x * top[3] + under[i] * (1 - top[3])).concat(1);
const light = c => { const [r, g, b] = c.map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = el => { const chain = []; for (let e = el; e; e = e.parentElement) chain.unshift(e);
    return chain.reduce((under, e) => over(rgba(getComputedStyle(e).backgroundColor), under), [1, 1, 1, 1]); };
const found = [];
document.querySelectorAll('details').forEach(e => { e.open = true; });
document.querySelectorAll('.llmn *').forEach(el => {
    const own = [...el.childNodes].filter(n => n.nodeType === 3 && n.data.trim()).map(n => n.data.trim()).join(' ');
    if (!own || el.tagName === 'STYLE') return;
    const under = behind(el), ink = over(rgba(getComputedStyle(el).color), under);
    const [a, b] = [light(ink), light(under)].sort((x, y) => y - x);
    found.push({text: own.slice(0, 40), tag: el.tagName, class: el.className, ratio: (a + 0.05) / (b + 0.05)});
});
const wide = document.documentElement.scrollWidth - innerWidth;
told = {hits: Object.keys(window.__hit), base: document.baseURI, wide, found};
"""
LIGHT_UP = """
document.querySelectorAll('details.k2')[0].open = true;
const lit = [...document.querySelectorAll('.side tbody *')].filter(e => getComputedStyle(e).boxShadow !== 'none');
told = lit.map(e => [e.tagName, e.closest('td').cellIndex, e.querySelector('small').textContent]);
"""
LINKED = """
const link = document.querySelector('thead li a[href^="#ln-"]');
link.closest('details').open = true;
link.click();
const lit = [...document.querySelectorAll('.side tbody *')].filter(e => getComputedStyle(e).boxShadow !== 'none');
told = {label: link.textContent, lit: lit.map(e => [e.tagName, e.querySelector('small').textContent])};
"""
LINES = """
told = [...document.querySelectorAll('.side pre > [class^=i]')].map(e => {
    const range = document.createRange(), tops = [], lefts = [];
    range.selectNodeContents(e);
    for (const box of range.getClientRects()) if (box.width > 1) { tops.push(box.top); lefts.push(box.left); }
    const height = parseFloat(getComputedStyle(e).lineHeight);
    const first = Math.min(...tops), rest = lefts.filter((_, i) => tops[i] > first + height / 2);
    const ch = parseFloat(getComputedStyle(e).paddingLeft) / Number(e.className.slice(1));
    const pad = e.textContent.match(/^ */)[0].length, left = e.getBoundingClientRect().left;
    return {lines: Math.round(e.getBoundingClientRect().height / height), shown: new Set(tops.map(Math.round)).size,
            first: pad, rest: rest.length ? Math.round((Math.min(...rest) - left) / ch) : null, text: e.textContent};
});
"""
TELL = """
document.body.innerHTML = '';
document.body.append(Object.assign(document.createElement('pre'), {textContent: JSON.stringify(told)}));
"""


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no Chromium here")
    return found


def look(folder: Path, body: str, theme: str = "light") -> dict[str, Any]:
    """Shows a page, and returns what ran, what was fetched, and how every text stands out from what is behind it."""
    told: dict[str, Any] = shown(folder, body, READ, theme)
    asked = set(re.findall(r'"url":"([^"]+)"', (folder / "net.json").read_text(encoding="utf-8", errors="replace")))
    told["fetched"] = sorted([url for url in asked if re.match(r"https?://[\w.-]+\.(?:invalid|example)\b", url)])
    return told


def shown(folder: Path, body: str, script: str, theme: str = "light") -> Any:
    """Shows a page, runs a script of the test's on it, and returns what that told."""
    values = THEMES[theme]
    variables = {
        "--jp-content-font-color1": values.get("font"),
        "--jp-layout-color0": values.get("page"),
        "--jp-brand-color1": values.get("brand"),
        "--jp-content-link-color": values.get("link"),
        **({f"--jp-{name}-color1": color for name, color in STATES.items()} if values else {}),
    }
    sheet = ";".join([f"{name}:{value}" for name, value in variables.items() if value])
    head = f"<meta charset=utf-8><style>:root{{{sheet}}}body{{background:{values.get('page', 'white')}}}</style>"
    early = "<script>window.__hit = {};</script>"
    page = folder / "page.html"
    late = f"<script>addEventListener('load', () => setTimeout(() => {{ let told; {script}{TELL} }}, 300));</script>"
    page.write_text(
        f"<!doctype html><html><head>{head}{early}</head><body>{body}{late}</body></html>", encoding="utf-8"
    )
    command = [
        _chromium(),
        *FLAGS,
        f"--log-net-log={folder / 'net.json'}",
        f"--user-data-dir={folder / 'profile'}",
        page.as_uri(),
    ]
    dumped = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    match = re.search(r"<pre>(.*)</pre>", dumped, re.DOTALL)
    assert match is not None, dumped[-500:]
    told: Any = json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return told


def everything() -> str:
    """Every view, with whatever it can show."""
    columns = [column(api, found, checked="sdk 1.0") for api, found in conversions().items()]
    columns[0] = type(columns[0])(api="cohere_chat", error={**RECORD["error"], "refs": [[1, 1]]})
    messages = builtin(stack().messages)
    return "".join(
        [
            exchange_page(RECORD),
            *[
                exchange_page({**RECORD, "status": status})
                for status in ("interrupted", "failed", "refused", "dry_run")
            ],
            comparison_page([RECORD, RECORD]),
            stack_page(messages, marks={5: "stale"}, bad=[(1, 1)]),
            comparison(messages, columns, settings={"temperature": 0.2}),
            deltas_page(STREAM, badges=["incomplete"]),
            sheet(*REPLAY_SECTIONS, "talk") + replay_part(STREAM, 43),
            transcript_page([*[Said(message) for message in messages], Said(None, RECORD, "not sent along")]),
            spending_part(ROWS, png()),
            usage_page(ROWS),
            configs_page([CONFIG, {**CONFIG, "sdk_installed": True}], current="openai"),
        ]
    )


def test_hostile_texts_neither_run_nor_fetch(tmp_path: Path) -> None:
    texts = "".join(
        [f'<div class="llmn">{markdown.html(text)}</div>' for text in [*HOSTILE.values(), *OWN_ATTACKS.values()]]
    )
    told = look(tmp_path, texts.encode("utf-8", "replace").decode())
    assert told["hits"] == []
    assert told["fetched"] == []
    assert told["base"].startswith("file:")
    assert len(told["found"]) > len(HOSTILE)


def test_the_browser_would_tell(tmp_path: Path) -> None:
    told = look(tmp_path, '<p class="llmn"><img src="https://evil.invalid/x" onerror="window.__hit.image=1">text</p>')
    assert told["hits"] == ["image"]
    assert told["fetched"] == ["https://evil.invalid/x"]


def test_the_measure_would_tell(tmp_path: Path) -> None:
    faint = '<p style="color:#999">faint</p><p style="background:#000"><b style="color:#0008">x</b></p><p>plain</p>'
    told = look(tmp_path, f'<div class="llmn">{faint}</div>')
    assert [(found["text"], found["ratio"] < 4.5) for found in told["found"]] == [
        ("faint", True),
        ("x", True),
        ("plain", False),
    ]


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_can_be_read(tmp_path: Path, theme: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 for every text, folded ones included."""
    told = look(tmp_path, everything(), theme)
    dim = [found for found in told["found"] if found["ratio"] < 4.5]
    assert dim == []
    assert len(told["found"]) > 300
    assert told["fetched"] == []
    assert told["wide"] <= 0, "nothing makes the page wider than it is"


def test_an_open_block_lights_up_with_its_renderings(tmp_path: Path) -> None:
    columns = [column(api, found) for api, found in conversions().items()]
    told = shown(tmp_path, comparison(builtin(stack().messages), columns), LIGHT_UP)
    assert told == [["DETAILS", 0, "1.1"], ["PRE", 1, "1.1"], ["PRE", 2, "1.1"]]


def test_a_label_at_the_head_leads_to_its_block_and_lights_it(tmp_path: Path) -> None:
    columns = [column(api, found) for api, found in conversions().items()]
    told = shown(tmp_path, comparison(builtin(stack().messages), columns), LINKED)
    assert {told["label"]} == {label for _, label in told["lit"]}
    assert [name for name, _ in told["lit"]] == ["DETAILS", "DIV", "PRE"], "lost in one column, written in the other"


def test_long_lines_go_on_further_in_and_leave_no_line_empty(tmp_path: Path) -> None:
    every: Any = llmneutral.convert(stack(), to="all", trace=True)
    columns = [column(api, found) for api, found in every.items() if not isinstance(found, Exception)]
    told = shown(tmp_path, comparison(builtin(stack().messages), columns), LINES)
    broken = [line for line in told if line["rest"] is not None]
    assert len(broken) > 20
    for line in told:
        assert line["lines"] == line["shown"], line["text"]
    for line in broken:
        assert line["rest"] >= min(line["first"] + 2, 12) - 1, line["text"]


def test_the_arrow_of_a_list_has_the_colour_of_text() -> None:
    """The one of the widgets is a black picture: on a dark page it is not seen."""
    rule = re.search(r"\.widget-dropdown>select\{([^}]*)\}", style_section("live"))
    assert rule is not None
    assert "conic-gradient(" in rule[1]
    assert "var(--jp-ui-font-color1,currentColor)" in rule[1]
