"""Blocks of a message as chunks, calls and tool messages of Mistral, one row of the rulebook a test."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, PromptStack, convert
from llmneutral.ir import contents as c

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()
WAV = base64.b64encode(b"RIFF\0\0\0\0WAVEfmt ").decode()
FLAC = base64.b64encode(b"fLaC" + b"\0" * 16).decode()
OWN = c.Origin("mistral_chat", "magistral-medium-latest")
MODEL = "magistral-medium-latest"


def made(*blocks: Any, role: str = "user", **settings: Any) -> Conversion:
    """A conversion of some blocks in one message; an answer gets its questions around it."""
    messages = [Message(role, blocks)]
    if role == "assistant":
        messages = [Message("user", "q"), *messages, Message("user", "go on")]  # type: ignore[arg-type]  # text is taken
    return convert(PromptStack(messages), "mistral_chat", **{"model": MODEL, **settings})


def content(*blocks: Any, role: str = "user", **settings: Any) -> Any:
    return made(*blocks, role=role, **settings).payload["messages"][1 if role == "assistant" else 0]["content"]


def told(conversion: Conversion) -> list[str]:
    return [change.kind for change in conversion.changes]


# --- text, reasoning ----------------------------------------------------------------------------


def test_one_text_is_a_string_and_several_are_chunks() -> None:
    assert content(c.TextMessageContent("a")) == "a"
    assert content(c.TextMessageContent("a"), c.TextMessageContent("b")) == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    joined = made(c.TextMessageContent("a"), c.TextMessageContent("b"), facts={"string_content_only": True})
    assert joined.payload["messages"][0]["content"] == "a\nb"
    assert told(joined) == ["merged"]


def test_own_reasoning_stands_among_the_content_and_is_closed() -> None:
    thought = c.ThinkingMessageContent("hm", signature="sig", origin=OWN)
    assert content(thought, c.TextMessageContent("a"), role="assistant") == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "signature": "sig", "closed": True},
        {"type": "text", "text": "a"},
    ]
    assert content(c.ThinkingMessageContent("hm", origin=OWN), role="assistant") == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}
    ]


def test_the_chunks_inside_of_reasoning_go_back_as_they_came() -> None:
    inner = [{"type": "text", "text": "hm"}, {"type": "tool_reference", "tool": "web_search", "title": "t"}]
    thought = c.ThinkingMessageContent("hm", origin=OWN, native={"thinking": inner})
    (chunk,) = content(thought, role="assistant")
    assert chunk["thinking"] == inner
    assert chunk["thinking"] is not inner


def test_references_stand_behind_their_text_and_other_citations_are_told() -> None:
    cited = c.TextMessageContent("a", citations=({"type": "reference", "reference_ids": [1]},))
    assert content(cited, c.TextMessageContent("b"), role="assistant") == [
        {"type": "text", "text": "a"},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": "b"},
    ]
    assert content(c.TextMessageContent("", citations=cited.citations), role="assistant") == [
        {"type": "reference", "reference_ids": [1]}
    ]
    foreign = made(c.TextMessageContent("a", citations=({"url": "https://example.org"},)), role="assistant")
    assert foreign.payload["messages"][1]["content"] == "a"
    assert told(foreign) == ["coerced"]


def test_references_are_traced_to_their_text() -> None:
    cited = c.TextMessageContent("", citations=({"type": "reference", "reference_ids": [1]},))
    found = made(cited, role="assistant", trace=True)
    assert found.trace is not None
    assert found.trace["/messages/1/content/0"] == ((1, 0),)


def test_a_refusal_is_text() -> None:
    found = made(c.RefusalMessageContent("no"), role="assistant")
    assert found.payload["messages"][1]["content"] == [{"type": "text", "text": "no"}]
    assert told(found) == ["rewritten"]


def test_own_chunks_go_out_as_they_came_and_those_of_others_are_dropped() -> None:
    value = {"type": "resource_link", "uri": "x"}
    assert content(c.GenericMessageContent(value, origin=OWN)) == [value]
    found = made(c.GenericMessageContent(value, origin=c.Origin("gemini_native")), c.TextMessageContent("a"))
    assert found.payload["messages"][0]["content"] == "a"
    assert told(found) == ["dropped"]


# --- media --------------------------------------------------------------------------------------


def test_pictures_by_address_or_data_url() -> None:
    assert content(c.ImageMessageContent(url="https://example.org/a.png", detail="low")) == [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
    ]
    assert content(c.ImageMessageContent(PNG)) == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    ]


def test_sound_is_base64_and_wav_or_mp3() -> None:
    assert content(c.AudioMessageContent(WAV)) == [{"type": "input_audio", "input_audio": WAV}]
    with pytest.raises(ConversionError, match="audio/flac is no audio"):
        made(c.AudioMessageContent(FLAC))
    assert content(c.AudioMessageContent(FLAC), unsupported_media="text") == [
        {"type": "text", "text": "[audio not sent]"}
    ]


def test_documents_by_address_data_url_or_id() -> None:
    address = c.DocumentMessageContent(url="https://example.org/a.pdf", name="a.pdf")
    assert content(address) == [
        {"type": "document_url", "document_url": "https://example.org/a.pdf", "document_name": "a.pdf"}
    ]
    assert content(c.DocumentMessageContent(PDF)) == [
        {"type": "document_url", "document_url": f"data:application/pdf;base64,{PDF}"}
    ]
    assert content(c.DocumentMessageContent(file_id="f1")) == [{"type": "file", "file_id": "f1"}]


def test_a_document_of_text_is_text() -> None:
    found = made(c.DocumentMessageContent(text="plain", title="T"), c.TextMessageContent("q"))
    assert found.payload["messages"][0]["content"][0] == {"type": "text", "text": "plain"}
    assert told(found) == ["coerced", "rewritten"]
    parts = (c.TextMessageContent("a"), c.TextMessageContent("b"))
    assert content(c.DocumentMessageContent(parts=parts)) == [{"type": "text", "text": "a\n\nb"}]


def test_a_model_without_eyes_refuses_pictures_or_takes_a_note() -> None:
    with pytest.raises(ConversionError, match="reads no images"):
        made(c.ImageMessageContent(PNG), facts={"vision": False})
    noted = content(c.ImageMessageContent(PNG), facts={"vision": False}, unsupported_media="text")
    assert noted == [{"type": "text", "text": "[image not sent]"}]


# --- calls and results --------------------------------------------------------------------------


def pair(call: Any, result: Any, **settings: Any) -> Conversion:
    messages = [Message("user", "q"), Message("assistant", (call,)), Message("user", (result,))]  # type: ignore[arg-type]  # text is taken
    return convert(PromptStack(messages), "mistral_chat", **{"model": MODEL, **settings})


CALL = c.ActionCallMessageContent("c1", "look", input={"a": 1}, arguments='{"a":1}')


def test_a_call_has_its_arguments_as_text_and_its_result_the_name_of_the_tool() -> None:
    found = pair(CALL, c.ActionResultMessageContent("c1", {"t": 4}))
    assert found.payload["messages"][1:] == [
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"t": 4}', "name": "look"},
    ]
    assert found.changes == ()


def test_the_name_is_the_native_one() -> None:
    call = c.ActionCallMessageContent("c1", "files", "read", input={})
    assert pair(call, c.ActionResultMessageContent("c1", "ok", name="files", path="read")).payload["messages"][2][
        "name"
    ] == ("files_read")


@pytest.mark.parametrize(
    ("result", "expected", "kinds"),
    [
        (c.ActionResultMessageContent("c1", None), "", []),
        (c.ActionResultMessageContent("c1", "broken", is_error=True), "Error: broken", ["rewritten"]),
        (c.ActionResultMessageContent("c1", parts=()), "", []),
        (c.ActionResultMessageContent("c1", parts=(c.TextMessageContent("a"),)), "a", []),
        (
            c.ActionResultMessageContent("c1", parts=(c.TextMessageContent("a"),), is_error=True),
            "Error: a",
            ["rewritten"],
        ),
        (c.ActionResultMessageContent("c1", parts=(), is_error=True), "Error: ", ["rewritten"]),
        (
            c.ActionResultMessageContent(
                "c1", parts=(c.TextMessageContent("a"), c.GenericMessageContent({"type": "reference"}, origin=OWN))
            ),
            [{"type": "text", "text": "a"}, {"type": "reference"}],
            [],
        ),
        (
            c.ActionResultMessageContent("c1", parts=(c.GenericMessageContent({"type": "x"}),)),
            '{"type": "x"}',
            ["rewritten"],
        ),
    ],
)
def test_results(result: Any, expected: Any, kinds: list[str]) -> None:
    found = pair(CALL, result)
    assert found.payload["messages"][2]["content"] == expected
    assert told(found) == kinds


def test_several_parts_are_lines_where_content_is_a_string() -> None:
    parts = (c.TextMessageContent("a"), c.TextMessageContent("b"))
    found = pair(CALL, c.ActionResultMessageContent("c1", parts=parts), facts={"string_content_only": True})
    assert found.payload["messages"][2]["content"] == "a\nb"
    assert told(found) == ["merged"]


def test_what_only_other_apis_know_of_a_call_is_told() -> None:
    signed = c.ActionCallMessageContent("c1", "look", input={}, thought_signature="s")
    assert told(pair(signed, c.ActionResultMessageContent("c1", "ok"))) == ["coerced"]
    custom = c.ActionCallMessageContent("c1", "look", input={"input": "free"}, native={"custom": True})
    found = pair(custom, c.ActionResultMessageContent("c1", "ok"))
    assert found.payload["messages"][1]["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"input": "free"}'},
    }
    assert told(found) == ["rewritten"]


def test_an_invalid_call_goes_back_as_it_came() -> None:
    broken = c.InvalidActionCallMessageContent("c1", "look", raw='{"a": ')
    function = pair(broken, c.ActionResultMessageContent("c1", "no")).payload["messages"][1]["tool_calls"][0][
        "function"
    ]
    assert function["arguments"] == '{"a": '
