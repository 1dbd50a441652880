"""All views, with hostile strings in every field: no element and no attribute outside the closed set."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views.answer import comparison_page, error_page, exchange_page, frame_body, summary_line
from llmneutral_widgets.views.configs import configs_page
from llmneutral_widgets.views.deltas import deltas_page, deltas_text, replay_part
from llmneutral_widgets.views.listed import exchange_text, stack_text
from llmneutral_widgets.views.page import page
from llmneutral_widgets.views.payload import Column, comparison, payload_page
from llmneutral_widgets.views.payload_text import comparison_text, payload_text
from llmneutral_widgets.views.spending import spending_part
from llmneutral_widgets.views.stack import stack_head, stack_page, stack_part
from llmneutral_widgets.views.transcript import Said, said_part, transcript_page
from llmneutral_widgets.views.usage import usage_page
from tests.widgets.closed_set import HIDDEN, HOSTILE, OWN_ATTACKS, is_well_nested, outside_views
from tests.widgets.samples import RECORD, ROWS, STREAM, column, conversions, png, stack

ADDRESS = 'https://a.example/" onmouseover="window.__hit=1'
ATTACKS = [
    *HOSTILE.values(),
    *OWN_ATTACKS.values(),
    '"><img src=x onerror=1>',
    "' onmouseover='1",
    "</style><script>1",
    ADDRESS,
]
FEW = ['"><script>window.__hit=1</script>', "' onmouseover='x' \u202e\x1b[1m\ud800 $\\href{javascript:1}{x}$", ADDRESS]

Path = tuple[Any, ...]


def _columns() -> list[dict[str, Any]]:
    problems = [{"path": "/messages/0", "message": "wrong"}]
    columns = [
        msgspec.structs.asdict(column(api, found, checked="sdk 1.0", problems=problems))
        for api, found in conversions().items()
    ]
    return [*columns, {"api": "cohere_chat", "error": {**RECORD["error"], "refs": [[1, 1]]}}]


CONFIG = {
    "name": "openai",
    "api_mode": "codex_responses",
    "model": "gpt-6-luna",
    "sdk": "openai",
    "sdk_installed": False,
    "extra": "openai",
    "key_variable": "OPENAI_API_KEY",
    "key_set": False,
}
MESSAGES = builtin(stack().messages)
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Weather"}}]


def _show_comparison(data: dict[str, Any]) -> str:
    columns = [Column(**each) for each in data["columns"]]
    given = {key: data[key] for key in ("settings", "tools", "output_schema")}
    return comparison(data["messages"], columns, **given) + payload_page(columns)


def _show_frame(data: dict[str, Any]) -> str:
    thinking, answer = (12, data["thinking"]), (data["answer"], 7)
    return page(frame_body(data["name"], thinking=thinking, answer=answer, calls=[(data["call"], data["given"])]))


def _show_pieces(data: dict[str, Any]) -> str:
    """A conversation in the pieces of a live view."""
    messages, marks = data["messages"], data["marks"]
    head = stack_head(len(messages), data["tools"], data["name"])
    return head + stack_part(messages, range(len(messages)), marks=marks, makers=data["makers"], bad=[(3, 2)])


def _show_talk(data: dict[str, Any]) -> str:
    items = [
        *[Said(message, mark=data["mark"]) for message in data["messages"]],
        Said(None, data["record"], data["mark"]),
    ]
    return transcript_page(items) + said_part(items)


def _show_replay(record: list[Any]) -> str:
    return "".join([replay_part(record, number) for number in (1, 3, len(record) - 4, len(record))])


VIEWS: dict[str, tuple[Any, Callable[[Any], str]]] = {
    "answer": (RECORD, exchange_page),
    "answers": ([RECORD, RECORD], comparison_page),
    "error": (RECORD["error"], error_page),
    "frame": ({"name": "a", "thinking": "t", "answer": "x", "call": "f", "given": "{"}, _show_frame),
    "stack": (
        {"messages": MESSAGES, "tools": TOOLS, "marks": {5: "stale"}, "bad": [[3, 2]], "name": "default"},
        lambda data: stack_page(data.pop("messages"), **data),
    ),
    "payload": (
        {
            "messages": MESSAGES,
            "columns": _columns(),
            "settings": {"temperature": 0.2, "stop": ["x"]},
            "tools": TOOLS,
            "output_schema": {"type": "object", "title": "T"},
        },
        _show_comparison,
    ),
    "deltas": (
        {"record": STREAM, "stopped": "5,000 chunks", "badges": ["incomplete"]},
        lambda data: deltas_page(data.pop("record"), **data),
    ),
    "pieces": (
        {"messages": MESSAGES, "tools": TOOLS, "marks": {5: "stale"}, "makers": {5: "local"}, "name": "default"},
        _show_pieces,
    ),
    "talk": ({"messages": MESSAGES, "record": RECORD, "mark": "not sent along"}, _show_talk),
    "replay": (STREAM, _show_replay),
    "spending": (ROWS, lambda rows: spending_part(rows) + spending_part(rows, png())),
    "usage": (ROWS, lambda rows: usage_page(rows) + usage_page(rows, by="model") + usage_page(rows, by="day")),
    "configs": ([CONFIG, {**CONFIG, "sdk_installed": True}], lambda rows: configs_page(rows, current="openai")),
}


def leaves(value: Any, at: Path = ()) -> Iterator[Path]:
    """Where texts stand, keys of objects included."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*at, key))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from leaves(item, (*at, i))


def lists(value: Any) -> Any:
    """Tuples as lists, so that they can be written to."""
    if isinstance(value, dict):
        return {key: lists(item) for key, item in value.items()}
    return [lists(item) for item in value] if isinstance(value, (list, tuple)) else copy.copy(value)


def put(value: Any, at: Path, text: str) -> None:
    for step in at[:-1]:
        value = value[step]
    value[at[-1]] = text


def keyed(value: Any, text: str) -> Any:
    """Adds a hostile key to every object that is shown as JSON."""
    if isinstance(value, dict):
        return {**{key: keyed(item, text) for key, item in value.items()}, **({text: text} if _is_free(value) else {})}
    return [keyed(item, text) for item in value] if isinstance(value, list) else value


def _is_free(value: dict[str, Any]) -> bool:
    return bool({"city", "sky", "model", "key"} & set(value)) and not {"status", "sdk", "api"} & set(value)


def check(output: str) -> None:
    assert outside_views(output) == []
    assert is_well_nested(output)


@pytest.mark.parametrize("view", VIEWS)
def test_as_it_is(view: str) -> None:
    data, show = VIEWS[view]
    check(show(lists(data)))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_in_all_fields_at_once(view: str, attack: str) -> None:
    data, show = VIEWS[view]
    given = lists(data)
    for at in leaves(data):
        if at[-1] not in ("type", "kind"):
            put(given, at, attack)
    check(show(given))


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_in_each_field_alone(view: str) -> None:
    """Words that choose what is shown (`type`, `status`, `kind`) lead to other branches when they are hostile."""
    data, show = VIEWS[view]
    for at in leaves(data):
        for attack in FEW:
            given = lists(data)
            put(given, at, attack)
            check(show(given))


@pytest.mark.parametrize("view", ["answer", "payload", "deltas", "talk", "replay"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_keys(view: str, attack: str) -> None:
    data, show = VIEWS[view]
    check(show(keyed(lists(data), attack)))


# ----------------------------------------------------------------------------------------------------------------------
# The same as text, for terminals


def _print_payloads(data: dict[str, Any], width: int) -> str:
    columns = [Column(**each) for each in data["columns"]]
    given = {key: data[key] for key in ("settings", "tools", "output_schema")}
    return comparison_text(data["messages"], columns, width, **given) + "\n" + payload_text(columns, width)


TEXTS: dict[str, Callable[[Any, int], str]] = {
    "answer": exchange_text,
    "stack": lambda data, width: stack_text(data.pop("messages"), width, **data),
    "payload": _print_payloads,
    "deltas": lambda data, width: deltas_text(data.pop("record"), width, **data),
}
WIDTHS = (20, 33, 80, 159)


def check_text(printed: str, width: int) -> None:
    assert not HIDDEN.search(printed)
    assert "\t" not in printed
    for line in printed.split("\n"):
        wide = sum([unicodedata.east_asian_width(char) in "WF" for char in line])
        assert len(line) + wide - sum([unicodedata.category(char) in ("Mn", "Me", "Cf") for char in line]) <= width


@pytest.mark.parametrize(
    "attack", [*ATTACKS, "a\tb" * 50, "日本語の長い文章" * 20, "e\u0301" * 200, "x" * 5_000, "\n" * 500]
)
@pytest.mark.parametrize("view", TEXTS)
def test_plain_text_drives_no_terminal_and_is_no_wider(view: str, attack: str) -> None:
    data, _ = VIEWS[view]
    for width in WIDTHS:
        given = lists(data)
        for at in leaves(data):
            if at[-1] not in ("type", "kind"):
                put(given, at, attack)
        check_text(TEXTS[view](given, width), width)
    check_text(TEXTS[view](keyed(lists(data), attack), 60), 60)


@pytest.mark.parametrize("view", TEXTS)
def test_hostile_text_in_each_field_alone(view: str) -> None:
    data, _ = VIEWS[view]
    for at in leaves(data):
        for attack in FEW:
            given = lists(data)
            put(given, at, attack)
            check_text(TEXTS[view](given, 80), 80)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_line_of_text_drives_no_terminal(attack: str) -> None:
    given = lists(RECORD)
    for at in leaves(RECORD):
        if at[-1] not in ("type", "kind"):
            put(given, at, attack)
    assert not HIDDEN.search(summary_line(given))


def test_the_test_would_notice() -> None:
    assert outside_views("<p onclick=1>x</p>")
    assert outside_views("<script>1</script>")
    assert outside_views('<a href="javascript:1">x</a>')
    assert outside_views('<img src="https://a.example/x.png">')
    assert outside_views("<style>@import url(x)</style>")
    assert outside_views('<p style="position:fixed">x</p>')
    assert outside_views("a\u202eb")
    assert not is_well_nested("<p><b></p></b>")
