"""Arguments and results of calls: every row of the common rules, behind each API."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    BlobArtifact,
    ConversionError,
    ErrorArtifact,
    ImageArtifact,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    JsonArtifact,
    ListArtifact,
    Message,
    TextArtifact,
    TextMessageContent,
)
from llmneutral.convert.calls import arguments_object, arguments_text, error_text, result_text, written
from tests.convert.jobs import job, told
from tests.laws.stacks import PNG
from tests.payloads import APIS, kinds, made, said, turn

over_apis = pytest.mark.parametrize("api", APIS)
OBJECTS = ("anthropic_messages",)
Call = ActionCallMessageContent
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def history(call: Any = None, result: Any = None) -> list[Message]:
    return [
        turn("user", "q"),
        turn("assistant", Call("c", "look") if call is None else call),
        turn("user", ActionResultMessageContent("c", "ok") if result is None else result),
    ]


def from_text(text: str | None) -> Any:
    """A call as OpenAI's format has it, its arguments unread."""
    given = {"id": "c", "type": "function", "function": {"name": "look", "arguments": text}}
    (message,) = llmneutral.PromptStack.from_openai([{"role": "assistant", "tool_calls": [given]}]).messages
    return message.content[0]


# --- arguments ----------------------------------------------------------------------------------

ROWS: list[tuple[Any, dict[str, Any], bool]] = [
    # source, the object that goes, whether that is a Change
    ('{"a": 1}', {"a": 1}, False),
    (' {"a":1} ', {"a": 1}, False),
    ('{"n": 12345678901234567890123}', {"n": 12345678901234567890123}, False),
    ("", {}, False),
    (" \n", {}, False),
    (None, {}, False),
    ("null", {}, False),
    ("None", {}, False),
    ('"{\\"a\\": 2}"', {"a": 2}, True),
    ("[1]", {"_value": [1]}, True),
    ("3", {"_value": 3}, True),
    ('"x"', {"_value": "x"}, True),
    ('"null"', {"_value": "null"}, True),
    ("not json", {"_raw": "not json"}, True),
    ('{"a": ', {"_raw": '{"a": '}, True),
    ('{"a": NaN}', {"_raw": '{"a": NaN}'}, True),
    ('{"a": 1}{"b": 2}', {"_raw": '{"a": 1}{"b": 2}'}, True),
]


@over_apis
@pytest.mark.parametrize(("source", "sent", "changed"), ROWS)
def test_arguments_that_came_as_text(api: str, source: Any, sent: Any, changed: bool) -> None:
    found = made(api, history(from_text(source)))
    assert [event[4] for event in said(api, found.to_json()) if event[1] == "call"] == [sent]
    assert kinds(found) == (["coerced"] if changed else [])
    assert all("'look'" in change.why and change.refs == ((1, 0),) for change in found.changes)


@pytest.mark.parametrize("api", ["chat_completions", "codex_responses"])
@pytest.mark.parametrize("text", [' {"a":1} ', '{"a":1.0}', '{"ö":"\\u00f6"}', '{"a":1,"a":2}'])
def test_an_object_goes_byte_for_byte_where_text_is_taken(api: str, text: str) -> None:
    payload = made(api, history(from_text(text))).to_json()
    sent = payload["input"][1] if api == "codex_responses" else payload["messages"][1]["tool_calls"][0]["function"]
    assert sent["arguments"] == text


@over_apis
@pytest.mark.parametrize(
    ("given_input", "sent", "changed"),
    [
        ({"a": "ö", "b": [1, None]}, {"a": "ö", "b": [1, None]}, False),
        (None, {}, False),
        ([1], {"_value": [1]}, True),
        ({"a": float("nan"), "b": float("inf")}, {"a": "NaN", "b": "Infinity"}, True),
        ({"a": -float("inf")}, {"a": "-Infinity"}, True),
        ({"a": {2, 1}}, {"a": [1, 2]}, True),
    ],
)
def test_arguments_that_came_as_data(api: str, given_input: Any, sent: Any, changed: bool) -> None:
    found = made(api, history(Call("c", "look", input=given_input)))
    assert [event[4] for event in said(api, found.to_json()) if event[1] == "call"] == [sent]
    assert ("coerced" in kinds(found)) is changed
    json.dumps(found.to_json(), allow_nan=False)


@over_apis
def test_arguments_given_as_text_alone_are_read(api: str) -> None:
    found = made(api, history(Call("c", "look", arguments='{"a": 1}')))
    assert [event[4] for event in said(api, found.to_json()) if event[1] == "call"] == [{"a": 1}]
    assert found.changes == ()


@over_apis
def test_an_invalid_call_keeps_its_text(api: str) -> None:
    found = made(api, history(InvalidActionCallMessageContent("c", "look", raw='{"a": ')))
    sent = [event[4] for event in said(api, found.to_json()) if event[1] == "call"]
    assert sent == [{"_raw": '{"a": '} if api in OBJECTS else '{"a": ']
    assert kinds(found) == (["coerced"] if api in OBJECTS else [])


@over_apis
@pytest.mark.parametrize("given_input", [{"a": b"x"}, {"a": [bytearray(b"x")]}])
def test_bytes_among_the_arguments_are_refused(api: str, given_input: Any) -> None:
    with pytest.raises(ConversionError, match="the arguments of 'look': bytes") as caught:
        made(api, history(Call("c", "look", input=given_input)))
    assert caught.value.refs == ((1, 0),)


@given(st.dictionaries(st.text(max_size=3), plain, max_size=3))
def test_arguments_never_hold_what_json_has_not(given_input: dict[str, Any]) -> None:
    call = Call("c", "look", input=given_input)
    made_job = job(history(call))
    text = arguments_text(call, made_job)
    found = arguments_object(call, made_job)
    json.dumps(found, allow_nan=False)
    assert json.loads(text) == found


# --- results ------------------------------------------------------------------------------------


class Odd:
    def __str__(self) -> str:
        return "odd"


class Bare:
    pass


@dataclasses.dataclass
class Point:
    x: int
    y: float


RESULTS: list[tuple[Any, str, bool]] = [
    ("ok", "ok", False),
    ({"a": 1}, '{"a": 1}', False),
    ({"k": "ö"}, '{"k": "ö"}', False),
    ([1, 2], "[1, 2]", False),
    ((1, 2), "[1, 2]", False),
    (3, "3", False),
    (2.5, "2.5", False),
    (True, "true", False),
    (float("nan"), '"NaN"', True),
    ({"a": [float("inf"), -float("inf")]}, '{"a": ["Infinity", "-Infinity"]}', True),
    ({"b", "a"}, '["a", "b"]', True),
    ({1: 2, None: 3}, '{"1": 2, "null": 3}', False),
    ({(1, 2): 3}, '{"[1, 2]": 3}', True),
    (datetime.date(2026, 1, 2), "2026-01-02", True),
    ({"at": datetime.date(2026, 1, 2)}, '{"at": "2026-01-02"}', True),
    (Point(1, 2.0), '{"x": 1, "y": 2.0}', True),
    (Odd(), "odd", True),
    (Bare(), "<Bare>", True),
    ({"t": TextArtifact("in")}, '{"t": "in"}', True),
    (TextArtifact("in"), "in", False),
    (JsonArtifact({"a": 1}), '{"a": 1}', False),
    (JsonArtifact({"a": float("nan")}), '{"a": "NaN"}', True),
]


@over_apis
@pytest.mark.parametrize(("output", "text", "changed"), RESULTS, ids=lambda value: type(value).__name__)
def test_whatever_a_tool_gives_back_has_a_text(api: str, output: Any, text: str, changed: bool) -> None:
    found = made(api, history(result=ActionResultMessageContent("c", output)))
    assert [event[3] for event in said(api, found.to_json()) if event[1] == "result"] == [text]
    assert kinds(found) == (["coerced"] if changed else [])


@over_apis
@pytest.mark.parametrize("output", [None, "", "  \n", TextArtifact(""), ()])
def test_an_empty_result_is_never_dropped(api: str, output: Any) -> None:
    result = ActionResultMessageContent("c", output) if output != () else ActionResultMessageContent("c", parts=())
    found = made(api, history(result=result))
    (text,) = [event[3] for event in said(api, found.to_json()) if event[1] == "result"]
    if api == "anthropic_messages":
        assert (text, kinds(found)) == ("(no output)", ["added"])
    else:
        assert (text.strip(), kinds(found)) == ("", [])


@over_apis
@pytest.mark.parametrize("output", [b"x", bytearray(b"x"), {"a": b"x"}])
def test_bytes_are_refused_with_the_remedy(api: str, output: Any) -> None:
    with pytest.raises(ConversionError, match=r"a result: bytes .*BlobArtifact") as caught:
        made(api, history(result=ActionResultMessageContent("c", output)))
    assert caught.value.refs == ((2, 0),)


@over_apis
def test_data_that_holds_itself_is_refused(api: str) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ConversionError, match="holds itself"):
        made(api, history(result=ActionResultMessageContent("c", {"a": endless})))


@over_apis
@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("bad", "Error: bad"),
        ("Error: bad", "Error: bad"),
        ("Errors: 3", "Error: Errors: 3"),
        ("error: x", "Error: error: x"),
        ({"e": 1}, 'Error: {"e": 1}'),
    ],
)
def test_a_failed_result(api: str, output: Any, text: str) -> None:
    found = made(api, history(result=ActionResultMessageContent("c", output, is_error=True)))
    (event,) = [event for event in said(api, found.to_json()) if event[1] == "result"]
    if api == "anthropic_messages":
        assert event[4] is True
        assert found.changes == ()
        assert event[3] == (output if isinstance(output, str) else json.dumps(output))
    else:
        assert event[3] == text
        assert kinds(found) == ([] if output == text else ["rewritten"])


@over_apis
def test_the_flag_of_several_parts(api: str) -> None:
    parts = (TextMessageContent("bad"), TextMessageContent("worse"))
    found = made(api, history(result=ActionResultMessageContent("c", parts=parts, is_error=True)))
    (event,) = [event for event in said(api, found.to_json()) if event[1] == "result"]
    assert event[3] == ("bad\nworse" if api == "anthropic_messages" else "Error: bad\nworse")


@over_apis
def test_an_error_artifact_is_a_failed_result(api: str) -> None:
    by_content = made(api, history(result=ActionResultMessageContent("c", ErrorArtifact("bad")))).to_json()
    assert by_content == made(api, history(result=ActionResultMessageContent("c", "bad", is_error=True))).to_json()


PICTURE = ImageArtifact(b"\x89PNG\r\n\x1a\n" + b"\0" * 16)


@over_apis
@pytest.mark.parametrize(
    "output", [PICTURE, ListArtifact([PICTURE]), [PICTURE], BlobArtifact(PICTURE.value, "image/png")]
)
def test_a_picture_that_a_tool_gives_back_is_never_lost(api: str, output: Any) -> None:
    found = made(api, history(result=ActionResultMessageContent("c", output)))
    assert PNG in json.dumps(found.to_json())
    assert found.to_json() == made(api, history(result=ActionResultMessageContent("c", parts=(ImageMessageContent(
        PNG, media_type="image/png"),)))).to_json()  # fmt: skip


@over_apis
def test_media_stand_in_the_result_or_after_the_whole_group(api: str) -> None:
    results = (
        ActionResultMessageContent("a", parts=(TextMessageContent("see"), ImageMessageContent(PNG))),
        ActionResultMessageContent("b", "ok"),
    )
    stack = [
        turn("user", "q"),
        turn("assistant", Call("a", "look"), Call("b", "look")),
        turn("user", *results, "go on"),
    ]
    found = made(api, stack)
    sent = [event[1:4] if event[1] == "result" else event[1:3] for event in said(api, found.to_json())][3:]
    if api == "chat_completions":
        assert sent == [
            ("result", "a", "see"),
            ("result", "b", "ok"),
            ("text", "Image from tool call a:"),
            ("media", "image"),
            ("text", "go on"),
        ]
        assert kinds(found) == ["moved"]
    else:
        assert [event[0] for event in sent] == ["result", "result", "text"]
        assert found.changes == ()


@given(plain)
def test_a_result_of_plain_data_is_text_without_nan(output: Any) -> None:
    result = ActionResultMessageContent("c", output)
    text = result_text(result, job(history(result=result)), prefix_errors=False)
    if output is not None and not isinstance(output, str):
        json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_what_is_written_says_what_was_changed() -> None:
    made_job = job()
    assert written({"a": 1}, "it", None, made_job) == '{"a": 1}'
    assert told(made_job) == []
    assert written({"a": {1}}, "it", None, made_job) == '{"a": [1]}'
    assert [change.why for change in made_job.note.changes] == ["it: set is no plain data; it goes as text"]


def test_an_error_text_is_told_once() -> None:
    result = ActionResultMessageContent("c", "bad", is_error=True)
    made_job = job(history(result=result))
    assert error_text("bad", result, made_job) == "Error: bad"
    assert error_text("Error: bad", result, made_job) == "Error: bad"
    assert told(made_job) == [("rewritten", [(2, 0)])]
