"""Blocks → JSON: a test per row of the table of blocks."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    ConversionError,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    Message,
    Origin,
    PromptStack,
    RefusalMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()
API = "anthropic_messages"
HERE = Origin(API, "claude-sonnet-4-5", "api.anthropic.com")
CITATION = {
    "type": "char_location",
    "cited_text": "F",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}


def turn(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


def convert(messages: list[Message], **settings: Any) -> Any:
    settings = {"model": "claude-sonnet-4-5", "max_tokens": 1000, **settings}
    return ln.convert(PromptStack(messages), API, **settings)


def asked(*blocks: Any, **settings: Any) -> Any:
    return convert([turn("user", blocks)], **settings)


def answered(*blocks: Any, **settings: Any) -> Any:
    return convert([turn("user", "q"), turn("assistant", blocks), turn("user", "and?")], **settings)


def called(*results: Any, call: Any = None, **settings: Any) -> Any:
    call = call or ActionCallMessageContent("c1", "look", input={"a": 1})
    return convert([turn("user", "q"), turn("assistant", (call,)), turn("user", results)], **settings)


def first(conversion: Any, message: int = 0) -> Any:
    return conversion.payload["messages"][message]["content"][0]


def told(conversion: Any) -> list[tuple[str, str, tuple[Any, ...]]]:
    return [(change.step, change.kind, tuple(map(tuple, change.refs))) for change in conversion.changes]


# --- texts ----------------------------------------------------------------------------------------


def test_content_is_always_a_list_of_blocks() -> None:
    found = convert([turn("user", "hi"), turn("assistant", "yes"), turn("user", "go")])
    assert found.payload["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
    ]
    assert found.changes == ()


def test_citations_of_the_assistant_go_back_without_what_only_answers_have() -> None:
    found = answered(TextMessageContent("F", citations=({**CITATION, "file_id": None},)))
    assert first(found, 1) == {"type": "text", "text": "F", "citations": [CITATION]}
    assert found.changes == ()


def test_citations_of_another_api_are_left_out() -> None:
    found = answered(TextMessageContent("F", citations=({"type": "url_citation", "url": "u"}, CITATION)))
    assert first(found, 1)["citations"] == [CITATION]
    assert told(found) == [("frame", "coerced", ((1, 0),))]


def test_texts_of_the_user_carry_no_citations() -> None:
    found = asked(TextMessageContent("F", citations=(CITATION,)))
    assert first(found) == {"type": "text", "text": "F"}
    assert told(found) == [("frame", "coerced", ((0, 0),))]


def test_a_refusal_stands_as_text() -> None:
    found = answered(RefusalMessageContent("I will not."))
    assert first(found, 1) == {"type": "text", "text": "[refused] I will not."}
    assert told(found) == [("frame", "rewritten", ((1, 0),))]


def test_a_refusal_without_words_names_its_category() -> None:
    assert first(answered(RefusalMessageContent("", "cyber")), 1)["text"] == "[refused] cyber"


# --- reasoning ------------------------------------------------------------------------------------


def test_signed_reasoning_goes_back_unchanged_and_without_a_mark() -> None:
    found = answered(ThinkingMessageContent(" a\n", signature="s", cache=True), TextMessageContent("t"))
    assert first(found, 1) == {"type": "thinking", "thinking": " a\n", "signature": "s"}
    assert "cache_control" not in str(found.payload)


def test_opaque_reasoning_goes_back_with_its_data() -> None:
    found = answered(ThinkingMessageContent(data="blob"), TextMessageContent("t"))
    assert first(found, 1) == {"type": "redacted_thinking", "data": "blob"}


# --- media ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "source"),
    [
        (ImageMessageContent(PNG), {"type": "base64", "media_type": "image/png", "data": PNG}),
        (ImageMessageContent(url="https://x.test/a.png"), {"type": "url", "url": "https://x.test/a.png"}),
        (ImageMessageContent(file_id="file_1"), {"type": "file", "file_id": "file_1"}),
    ],
)
def test_a_picture_has_one_of_three_sources(image: Any, source: Any) -> None:
    found = asked(image)
    assert first(found) == {"type": "image", "source": source}
    assert found.changes == ()


def test_the_bytes_of_a_picture_decide_its_type() -> None:
    found = asked(ImageMessageContent(PNG, media_type="image/jpeg"))
    assert first(found)["source"]["media_type"] == "image/png"
    assert told(found) == [("frame", "coerced", ((0, 0),))]


def test_the_hint_of_resolution_is_not_sent() -> None:
    found = asked(ImageMessageContent(PNG, detail="high"))
    assert "detail" not in str(found.payload)
    assert told(found) == [("frame", "dropped", ((0, 0),))]


def test_a_picture_of_another_type_is_refused_or_noted() -> None:
    svg = ImageMessageContent("PHN2Zy8+", media_type="image/svg+xml")
    with pytest.raises(ConversionError, match="image/svg"):
        asked(svg)
    found = asked(svg, unsupported_media="text")
    assert first(found) == {"type": "text", "text": "[image/svg+xml not sent]"}
    assert told(found) == [("frame", "rewritten", ((0, 0),))]


def test_pictures_of_the_assistant_are_shown_by_the_user_after_the_results() -> None:
    stack = [
        turn("user", "q"),
        turn("assistant", (ImageMessageContent(PNG), ActionCallMessageContent("c1", "look"))),
        turn("user", (ActionResultMessageContent("c1", "r"),)),
    ]
    found = convert(stack)
    kinds = [[block["type"] for block in turn["content"]] for turn in found.payload["messages"]]
    assert kinds == [["text"], ["tool_use"], ["tool_result", "text", "image"]]
    assert ("move_media", "moved", ((1, 0),)) in told(found)


def test_sound_is_refused_or_its_transcript_stands_for_it() -> None:
    sound = AudioMessageContent("AAAA", "audio/wav", transcript="hello")
    with pytest.raises(ConversionError, match="audio/wav") as caught:
        asked(TextMessageContent("a"), sound)
    assert [tuple(ref) for ref in caught.value.refs] == [(0, 1)]
    found = asked(sound, AudioMessageContent("AAAA", "audio/wav"), unsupported_media="text")
    assert [block["text"] for block in found.payload["messages"][0]["content"]] == ["hello", "[audio/wav not sent]"]


@pytest.mark.parametrize(
    ("document", "source"),
    [
        (DocumentMessageContent(PDF), {"type": "base64", "media_type": "application/pdf", "data": PDF}),
        (DocumentMessageContent(url="https://x.test/a.pdf"), {"type": "url", "url": "https://x.test/a.pdf"}),
        (DocumentMessageContent(file_id="file_1"), {"type": "file", "file_id": "file_1"}),
        (DocumentMessageContent(text="words"), {"type": "text", "media_type": "text/plain", "data": "words"}),
        (
            DocumentMessageContent("aGVsbG8=", media_type="text/plain"),
            {"type": "text", "media_type": "text/plain", "data": "hello"},
        ),
        (
            DocumentMessageContent(parts=(TextMessageContent("p"), ImageMessageContent(PNG))),
            {
                "type": "content",
                "content": [
                    {"type": "text", "text": "p"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                ],
            },
        ),
    ],
)
def test_a_document_has_one_of_five_sources(document: Any, source: Any) -> None:
    assert first(asked(document)) == {"type": "document", "source": source}


def test_a_document_keeps_title_context_and_whether_it_is_cited() -> None:
    document = DocumentMessageContent(text="w", name="a.txt", context="c", native={"citations": {"enabled": True}})
    found = first(asked(document))
    assert (found["title"], found["context"], found["citations"]) == ("a.txt", "c", {"enabled": True})


def test_a_document_of_another_type_is_refused() -> None:
    with pytest.raises(ConversionError, match="text/csv"):
        asked(DocumentMessageContent("YSxi", media_type="text/csv"))


# --- tools ----------------------------------------------------------------------------------------


def test_a_call_and_its_result() -> None:
    found = called(ActionResultMessageContent("c1", "ok"))
    assert found.payload["messages"][1:] == [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
    ]
    assert found.changes == ()


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (ActionCallMessageContent("c1", "f", input=None, arguments=""), {}),
        (ActionCallMessageContent("c1", "f", input=None, arguments="[1]"), {"_value": [1]}),
        (ActionCallMessageContent("c1", "f", input=None, arguments="{broken"), {"_raw": "{broken"}),
        (ActionCallMessageContent("c1", "f", input={"n": float("inf")}), {"n": "Infinity"}),
        (InvalidActionCallMessageContent("c1", "f", raw="{broken"), {"_raw": "{broken"}),
    ],
)
def test_arguments_are_an_object_always(call: Any, given: Any) -> None:
    assert first(called(ActionResultMessageContent("c1", "ok"), call=call), 1)["input"] == given


def test_who_called_goes_back_to_this_api_only() -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srv_1"}
    mine = ActionCallMessageContent("c1", "f", native={"caller": caller, "other": 1}, origin=HERE)
    assert first(called(ActionResultMessageContent("c1", "ok"), call=mine), 1)["caller"] == caller
    theirs = ActionCallMessageContent("c1", "f", native={"caller": caller}, origin=Origin("chat_completions"))
    assert "caller" not in first(called(ActionResultMessageContent("c1", "ok"), call=theirs), 1)


@pytest.mark.parametrize(
    ("result", "content"),
    [
        (ActionResultMessageContent("c1", {"t": 4}), '{"t": 4}'),
        (ActionResultMessageContent("c1", True), "true"),
        (ActionResultMessageContent("c1", None, (TextMessageContent("a"),)), [{"type": "text", "text": "a"}]),
    ],
)
def test_a_result_is_a_string_or_a_list_of_blocks(result: Any, content: Any) -> None:
    found = called(result)
    assert first(found, 2)["content"] == content
    assert found.changes == ()


@pytest.mark.parametrize("output", [None, "", "  \n"])
def test_an_empty_result_is_said_to_be_empty(output: Any) -> None:
    found = called(ActionResultMessageContent("c1", output))
    assert first(found, 2)["content"] == "(no output)"
    assert told(found) == [("frame", "added", ((2, 0),))]


def test_a_result_of_blank_texts_is_empty_too() -> None:
    found = called(ActionResultMessageContent("c1", None, (TextMessageContent(" "),)))
    assert first(found, 2)["content"] == "(no output)"


def test_a_failed_result_has_its_flag_and_its_text_as_it_was() -> None:
    found = first(called(ActionResultMessageContent("c1", "boom", is_error=True)), 2)
    assert (found["content"], found["is_error"]) == ("boom", True)


def test_pictures_and_documents_stay_inside_a_result() -> None:
    parts = (TextMessageContent("a"), ImageMessageContent(PNG), DocumentMessageContent(PDF))
    found = first(called(ActionResultMessageContent("c1", None, parts)), 2)
    assert [block["type"] for block in found["content"]] == ["text", "image", "document"]


def test_a_result_loses_blocks_that_only_another_api_knows() -> None:
    parts = (GenericMessageContent({"type": "x"}, origin=Origin("gemini_native")), TextMessageContent("a"))
    found = called(ActionResultMessageContent("c1", None, parts))
    assert first(found, 2)["content"] == [{"type": "text", "text": "a"}]
    assert told(found) == [("frame", "rewritten", ((2, 0),))]


def test_an_error_inside_a_result_names_the_result() -> None:
    with pytest.raises(ConversionError) as caught:
        called(ActionResultMessageContent("c1", None, (AudioMessageContent("AAAA", "audio/wav"),)))
    assert [tuple(ref) for ref in caught.value.refs] == [(2, 0)]


def test_blocks_of_this_api_go_back_as_they_came_without_what_only_answers_have() -> None:
    use = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"page_age": None}]}
    blocks = (
        GenericMessageContent({**use, "caller": None}, origin=HERE),
        GenericMessageContent({**result, "parsed_output": 1}, origin=HERE),
        TextMessageContent("found"),
    )
    assert answered(*blocks).payload["messages"][1]["content"] == [use, result, {"type": "text", "text": "found"}]


def test_blocks_of_another_api_are_dropped() -> None:
    found = answered(GenericMessageContent({"type": "x"}, origin=Origin("codex_responses")), TextMessageContent("t"))
    assert found.payload["messages"][1]["content"] == [{"type": "text", "text": "t"}]
    assert told(found) == [("drop_generic_of_others", "dropped", ((1, 0),))]


# --- cache marks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "control"),
    [
        (True, {"type": "ephemeral"}),
        ("1h", {"type": "ephemeral", "ttl": "1h"}),
        ("5m", {"type": "ephemeral", "ttl": "5m"}),
    ],
)
def test_a_mark_stands_on_the_block(mark: Any, control: Any) -> None:
    blocks = (TextMessageContent("a", cache=mark), ImageMessageContent(PNG, cache=mark), DocumentMessageContent(PDF))
    found = asked(*blocks).payload["messages"][0]["content"]
    assert [block.get("cache_control") for block in found] == [control, control, None]


def test_a_lifetime_the_endpoint_does_not_know_becomes_its_usual_one() -> None:
    found = asked(TextMessageContent("a", cache="1h"), facts={"cache_ttls": ["5m"]})
    assert first(found)["cache_control"] == {"type": "ephemeral"}
    assert told(found) == [("frame", "coerced", ((0, 0),))]


def test_a_mark_inside_a_result_stands_on_the_result() -> None:
    found = called(ActionResultMessageContent("c1", None, (TextMessageContent("a", cache=True),)))
    block = first(found, 2)
    assert block["cache_control"] == {"type": "ephemeral"}
    assert block["content"] == [{"type": "text", "text": "a"}]
    assert told(found) == [("marks_on_results", "moved", ((2, 0),))]


def test_an_endpoint_without_cache_gets_no_marks() -> None:
    found = asked(TextMessageContent("a", cache=True), facts={"cache": "none"})
    assert "cache" not in str(found.payload)
    assert told(found) == [("limit_cache_marks", "dropped", ((0, 0),))]
