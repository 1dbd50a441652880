"""Blocks of a message as parts, calls and tool messages of Chat Completions."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, convert
from llmneutral.ir import contents as c

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
WAV = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 16).decode()
MP3 = base64.b64encode(b"ID3\x03" + b"\0" * 16).decode()
OGG = base64.b64encode(b"OggS" + b"\0" * 16).decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
OPENROUTER = {"provider": "openrouter", "model": "anthropic/claude-sonnet-4.5"}
GEMINI = {"provider": "gemini", "model": "gemini-3-pro-preview"}


def said(*blocks: Any, role: str = "user", **settings: Any) -> Conversion:
    """One message of some blocks."""
    return convert([Message(role, blocks)], "chat_completions", **{"model": "gpt-4.1", **settings})


def parts(*blocks: Any, **settings: Any) -> Any:
    return said(*blocks, **settings).payload["messages"][0]["content"]


def round_trip(result: c.ActionResultMessageContent, call: Any = None, **settings: Any) -> Conversion:
    """A question, a call and its result."""
    asked = call or c.ActionCallMessageContent("c1", "f", input={})
    messages = [
        Message("user", (c.TextMessageContent("q"),)),
        Message("assistant", (asked,)),
        Message("user", (result,)),
    ]
    return convert(messages, "chat_completions", **{"model": "gpt-4.1", "tools": [TOOL], **settings})


def kinds(conversion: Conversion) -> list[str]:
    return [change.kind for change in conversion.changes]


# --- text ---------------------------------------------------------------------------------------


def test_one_text_is_a_string_and_several_are_parts() -> None:
    assert parts(c.TextMessageContent("a")) == "a"
    assert parts(c.TextMessageContent("a"), c.TextMessageContent("b")) == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


def test_an_empty_text_stays_as_the_caller_wrote_it() -> None:
    conversion = said(c.TextMessageContent(""))
    assert conversion.payload["messages"] == [{"role": "user", "content": ""}]
    assert conversion.changes == ()


def test_citations_and_signatures_of_a_text_are_told() -> None:
    block = c.TextMessageContent("a", citations=({"url": "u"},), thought_signature="s")
    conversion = said(block, role="assistant")
    assert conversion.payload["messages"][0] == {"role": "assistant", "content": "a"}
    assert kinds(conversion) == ["coerced", "coerced"]


def test_strings_only_joins_texts_and_refuses_pictures() -> None:
    facts = {"string_content_only": True}
    conversion = said(c.TextMessageContent("a"), c.TextMessageContent("b"), facts=facts)
    assert conversion.payload["messages"][0]["content"] == "a\nb"
    assert kinds(conversion) == ["merged"]
    with pytest.raises(ConversionError, match="image"):
        said(c.TextMessageContent("a"), c.ImageMessageContent(PNG), facts=facts)


# --- media --------------------------------------------------------------------------------------


def test_an_image_goes_as_a_data_url_or_by_its_address() -> None:
    assert parts(c.ImageMessageContent(PNG, detail="low")) == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}}
    ]
    assert parts(c.ImageMessageContent(url="https://example.org/a.png")) == [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    ]


def test_the_bytes_of_an_image_decide_its_type() -> None:
    conversion = said(c.ImageMessageContent(PNG, media_type="image/jpeg"))
    assert conversion.payload["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png")
    assert kinds(conversion) == ["coerced"]


@pytest.mark.parametrize(
    ("block", "settings", "mentions"),
    [
        (c.ImageMessageContent(PNG), {"facts": {"vision": False}}, "reads no images"),
        (c.ImageMessageContent(file_id="file-1"), {}, "file-1"),
        (c.ImageMessageContent(media_type="image/svg+xml", data="PHN2Zz4="), {}, "image/svg"),
        (c.ImageMessageContent(url="https://e.org/a.png"), {"facts": {"image_url": False}}, "https://e.org/a.png"),
        (c.AudioMessageContent(OGG), {}, "audio/ogg"),
        (c.AudioMessageContent(WAV), {"facts": {"audio_in": False}}, "reads no audio"),
        (c.DocumentMessageContent(PDF), {"facts": {"documents": False}}, "reads no documents"),
        (c.DocumentMessageContent(url="https://e.org/a.pdf"), {}, "https://e.org/a.pdf"),
    ],
)
def test_media_that_are_not_taken_are_refused_by_name(block: Any, settings: Any, mentions: str) -> None:
    with pytest.raises(ConversionError, match=mentions.replace("+", r"\+")) as caught:
        said(block, **settings)
    assert caught.value.refs == ((0, 0),)


@pytest.mark.parametrize(
    ("block", "facts"),
    [
        (c.ImageMessageContent(PNG, media_type="image/png"), {"vision": False}),
        (c.AudioMessageContent(OGG, "audio/ogg"), {}),
        (c.DocumentMessageContent(PDF, media_type="application/pdf"), {"documents": False}),
    ],
)
def test_media_that_are_not_taken_may_become_a_note(block: Any, facts: Any) -> None:
    conversion = said(block, facts=facts, unsupported_media="text")
    assert conversion.payload["messages"][0]["content"] == [{"type": "text", "text": f"[{block.media_type} not sent]"}]
    assert "rewritten" in kinds(conversion)


@pytest.mark.parametrize(("data", "format_"), [(WAV, "wav"), (MP3, "mp3")])
def test_audio_is_wav_or_mp3(data: str, format_: str) -> None:
    assert parts(c.AudioMessageContent(data)) == [
        {"type": "input_audio", "input_audio": {"data": data, "format": format_}}
    ]


def test_a_document_needs_a_file_name() -> None:
    named = said(c.DocumentMessageContent(PDF, name="a.pdf"))
    assert named.payload["messages"][0]["content"] == [
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}
    ]
    assert named.changes == ()
    unnamed = said(c.DocumentMessageContent(PDF))
    assert unnamed.payload["messages"][0]["content"][0]["file"]["filename"] == "document.pdf"
    assert kinds(unnamed) == ["added"]


def test_a_document_by_its_id_and_one_of_text() -> None:
    assert parts(c.DocumentMessageContent(file_id="file-1")) == [{"type": "file", "file": {"file_id": "file-1"}}]
    data = base64.b64encode(b"words").decode()
    file = {"filename": "a.txt", "file_data": f"data:text/plain;base64,{data}"}
    assert parts(c.DocumentMessageContent(text="words", name="a.txt")) == [{"type": "file", "file": file}]
    conversion = said(
        c.DocumentMessageContent(parts=(c.TextMessageContent("words"),), name="a.txt", title="T", context="C")
    )
    assert conversion.payload["messages"][0]["content"] == [{"type": "file", "file": file}]
    assert kinds(conversion) == ["coerced", "rewritten"]


def test_a_document_is_fetched_by_the_caller_only() -> None:
    raw = base64.b64decode(PDF)
    found = parts(c.DocumentMessageContent(url="https://e.org/a.pdf"), fetch={"https://e.org/a.pdf": (raw, None)})
    assert found[0]["file"]["file_data"] == f"data:application/pdf;base64,{PDF}"


# --- answers ------------------------------------------------------------------------------------


def test_a_refusal_alone_has_a_field_and_beside_text_is_a_part() -> None:
    block = c.RefusalMessageContent("no")
    assert said(block, role="assistant").payload["messages"] == [
        {"role": "assistant", "content": None, "refusal": "no"}
    ]
    assert parts(c.TextMessageContent("a"), block, role="assistant")[1] == {"type": "refusal", "refusal": "no"}


def test_imitators_know_no_refusals() -> None:
    conversion = said(c.RefusalMessageContent("no"), role="assistant", provider="groq")
    assert conversion.payload["messages"][0]["content"] == [{"type": "text", "text": "no"}]
    assert kinds(conversion) == ["rewritten"]


def test_a_part_of_this_api_goes_back_as_it_came_and_one_of_another_does_not() -> None:
    value = {"type": "video_url", "video_url": {"url": "u"}}
    own = c.GenericMessageContent(value, origin=c.Origin("chat_completions"))
    assert parts(own, c.TextMessageContent("a"))[0] == value
    foreign = c.GenericMessageContent(value, origin=c.Origin("gemini_native"))
    conversion = said(foreign, c.TextMessageContent("a"))
    assert conversion.payload["messages"][0]["content"] == "a"
    assert kinds(conversion) == ["dropped"]


# --- calls and results --------------------------------------------------------------------------


def test_arguments_go_as_they_were_written() -> None:
    raw = '{"z": 1,  "id": 12345678901234567890, "s": "\\u00e9"}'
    call = c.ActionCallMessageContent("c1", "f", input={"z": 1}, arguments=raw)
    messages = round_trip(c.ActionResultMessageContent("c1", "ok"), call).payload["messages"]
    assert messages[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": raw}}],
    }
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def test_an_invalid_call_goes_as_its_text() -> None:
    call = c.InvalidActionCallMessageContent("c1", "f", raw='{"a": ')
    messages = round_trip(c.ActionResultMessageContent("c1", "ok"), call).payload["messages"]
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"a": '


def test_a_custom_call_keeps_its_kind() -> None:
    call = c.ActionCallMessageContent("c1", "f", input={"input": "text"}, native={"custom": True})
    messages = round_trip(c.ActionResultMessageContent("c1", "ok"), call).payload["messages"]
    assert messages[1]["tool_calls"] == [{"id": "c1", "type": "custom", "custom": {"name": "f", "input": "text"}}]


@pytest.mark.parametrize(
    ("output", "text"),
    [("ok", "ok"), (None, ""), ({"t": 4}, '{"t": 4}'), ([1, "ä"], '[1, "ä"]'), (True, "true"), (3.5, "3.5")],
)
def test_a_result_is_text(output: Any, text: str) -> None:
    assert round_trip(c.ActionResultMessageContent("c1", output)).payload["messages"][2]["content"] == text


def test_a_failed_result_says_so_in_its_text() -> None:
    conversion = round_trip(c.ActionResultMessageContent("c1", "boom", is_error=True))
    assert conversion.payload["messages"][2]["content"] == "Error: boom"
    in_parts = c.ActionResultMessageContent("c1", parts=(c.TextMessageContent("boom"),), is_error=True)
    assert round_trip(in_parts).payload["messages"][2]["content"] == "Error: boom"
    assert kinds(conversion) == ["rewritten"]


def test_a_result_of_several_texts_is_a_list_unless_only_strings_are_taken() -> None:
    result = c.ActionResultMessageContent("c1", parts=(c.TextMessageContent("a"), c.TextMessageContent("b")))
    assert round_trip(result).payload["messages"][2]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    joined = round_trip(result, facts={"string_content_only": True})
    assert joined.payload["messages"][2]["content"] == "a\nb"
    assert kinds(joined) == ["merged"]


def test_a_block_of_another_kind_in_a_result_goes_as_text() -> None:
    result = c.ActionResultMessageContent("c1", parts=(c.GenericMessageContent({"type": "search_result", "n": 1}),))
    conversion = round_trip(result)
    assert conversion.payload["messages"][2]["content"] == '{"type": "search_result", "n": 1}'
    assert kinds(conversion) == ["rewritten"]


def test_the_name_of_a_result_stands_with_its_call() -> None:
    conversion = round_trip(c.ActionResultMessageContent("c1", "ok", name="f"))
    assert "name" not in conversion.payload["messages"][2]
    assert kinds(conversion) == ["rewritten"]


# --- cache marks --------------------------------------------------------------------------------


def test_a_mark_is_a_breakpoint_at_openai() -> None:
    block = c.TextMessageContent("a", cache=True)
    assert parts(block, model="gpt-5.6") == [
        {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}}
    ]
    longer = said(c.TextMessageContent("a", cache="1h"), model="gpt-5.6")
    assert longer.payload["messages"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit", "ttl": "12h"}
    assert kinds(longer) == ["coerced"]


def test_a_mark_is_an_envelope_elsewhere_or_nothing() -> None:
    block = c.TextMessageContent("a", cache=True)
    assert parts(block, **OPENROUTER) == [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]
    dropped = said(block, provider="groq")
    assert dropped.payload["messages"][0]["content"] == "a"
    assert kinds(dropped) == ["dropped"]


def test_a_mark_on_a_result_is_on_its_part() -> None:
    result = c.ActionResultMessageContent("c1", "ok", cache=True)
    assert round_trip(result, **OPENROUTER).payload["messages"][2]["content"] == [
        {"type": "text", "text": "ok", "cache_control": {"type": "ephemeral"}}
    ]


# --- thought signatures -------------------------------------------------------------------------


def test_a_thought_signature_stays_with_gemini() -> None:
    call = c.ActionCallMessageContent("c1", "f", input={}, thought_signature="S")
    result = c.ActionResultMessageContent("c1", "ok")
    own = round_trip(result, call, **GEMINI)
    assert own.payload["messages"][1]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "S"}}
    assert own.changes == ()
    other = round_trip(result, call)
    assert "extra_content" not in other.payload["messages"][1]["tool_calls"][0]
    assert kinds(other) == ["coerced"]


def test_an_unsigned_step_gets_the_sentinel_where_a_signature_is_demanded() -> None:
    calls = (c.ActionCallMessageContent("a", "f", input={}), c.ActionCallMessageContent("b", "f", input={}))
    results = (c.ActionResultMessageContent("a", "1"), c.ActionResultMessageContent("b", "2"))
    messages = [Message("user", (c.TextMessageContent("q"),)), Message("assistant", calls), Message("user", results)]
    conversion = convert(messages, "chat_completions", tools=[TOOL], **GEMINI)
    first, second = conversion.payload["messages"][1]["tool_calls"]
    assert first["extra_content"]["google"]["thought_signature"] == "skip_thought_signature_validator"
    assert "extra_content" not in second
    assert kinds(conversion) == ["added"]
