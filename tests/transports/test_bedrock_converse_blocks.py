"""Blocks of a message, as Converse writes them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    Conversion,
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

API = "bedrock_converse"
CLAUDE, NOVA = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-pro-v1:0"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
PDF = b"%PDF-1.4\n%%EOF"
CITE = {"title": "t", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 2}}}
OWN = Origin(API)
TOOLS = [{"type": "function", "function": {"name": "look"}}]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def turn(role: str, *blocks: Any) -> Message:
    """A message; text stands for one block."""
    return Message(role, tuple([TextMessageContent(b) if isinstance(b, str) else b for b in blocks]))


def made(*messages: Message, **more: Any) -> Conversion:
    found = ln.convert(PromptStack(messages), API, **{"model": CLAUDE, **more})
    assert isinstance(found, Conversion)
    return found


def user(*blocks: Any, **more: Any) -> list[Any]:
    """The blocks of a user's turn, with a text behind them so that none has to be added."""
    content: list[Any] = made(turn("user", *blocks, "end"), **more).payload["messages"][0]["content"]
    assert content.pop() == {"text": "end"}
    return content


def assistant(*blocks: Any, **more: Any) -> list[Any]:
    payload = made(turn("user", "q"), turn("assistant", *blocks), turn("user", "go on"), **more).payload
    content: list[Any] = payload["messages"][1]["content"]
    return content


def result(block: ActionResultMessageContent, **more: Any) -> dict[str, Any]:
    call = turn("assistant", ActionCallMessageContent("c1", "look"))
    content = made(turn("user", "q"), call, turn("user", block), tools=TOOLS, **more).payload["messages"][2]["content"]
    found: dict[str, Any] = content[0]["toolResult"]
    return found


def kinds(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


# --- texts, refusals, reasoning -------------------------------------------------------------------


def test_text() -> None:
    assert user("hello") == [{"text": "hello"}]


def test_a_refusal_is_text_and_told() -> None:
    found = made(turn("user", "q"), turn("assistant", RefusalMessageContent("No.")), turn("user", "why"))
    assert found.payload["messages"][1]["content"] == [{"text": "No."}]
    assert kinds(found) == [("frame", "rewritten")]
    assert assistant(RefusalMessageContent("", "weapons")) == [{"text": "[refused] weapons"}]


def test_own_citations_go_back_with_their_text() -> None:
    text = TextMessageContent("Fact.", citations=(CITE,))
    assert assistant(text) == [{"citationsContent": {"content": [{"text": "Fact."}], "citations": [CITE]}}]


def test_the_pieces_of_a_cited_text_stay_apart_while_the_text_is_the_same() -> None:
    pieces = [{"text": "Fa"}, {"text": "ct."}]
    text = TextMessageContent("Fact.", citations=(CITE,), native={"content": pieces}, origin=OWN)
    assert assistant(text)[0]["citationsContent"]["content"] == pieces
    edited = TextMessageContent("Facts.", citations=(CITE,), native={"content": pieces}, origin=OWN)
    assert assistant(edited)[0]["citationsContent"]["content"] == [{"text": "Facts."}]


def test_citations_without_text_stay_a_block_of_their_own() -> None:
    found = made(
        turn("user", "q"), turn("assistant", "A", TextMessageContent("", citations=(CITE,))), turn("user", "b")
    )
    assert found.payload["messages"][1]["content"][1] == {"citationsContent": {"citations": [CITE]}}
    assert found.changes == ()


def test_citations_of_another_api_are_left_out_and_told() -> None:
    theirs = TextMessageContent("Fact.", citations=({"type": "char_location", "cited_text": "F"},))
    found = made(turn("user", "q"), turn("assistant", theirs), turn("user", "b"))
    assert found.payload["messages"][1]["content"] == [{"text": "Fact."}]
    assert kinds(found) == [("frame", "coerced")]


def test_texts_of_the_user_have_no_citations() -> None:
    found = made(turn("user", TextMessageContent("Fact.", citations=(CITE,))))
    assert found.payload["messages"][0]["content"] == [{"text": "Fact."}]
    assert kinds(found) == [("frame", "coerced")]


def test_reasoning_goes_back_unmodified_and_opaque_reasoning_as_bytes() -> None:
    signed = ThinkingMessageContent("hm", signature="c2c=", origin=OWN)
    opaque = ThinkingMessageContent(data=b64(b"RED"), origin=OWN)
    assert assistant(signed, opaque, "A") == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2c="}}},
        {"reasoningContent": {"redactedContent": b"RED"}},
        {"text": "A"},
    ]


@pytest.mark.parametrize(
    "block",
    [
        ThinkingMessageContent("hm"),
        ThinkingMessageContent("hm", signature="s", origin=Origin("anthropic_messages", "claude-sonnet-4-5")),
        ThinkingMessageContent("hm", signature="s", origin=Origin(API, NOVA)),
        ThinkingMessageContent(data="&&", origin=OWN),
        ThinkingMessageContent(data="", origin=OWN),
    ],
    ids=["unsigned", "another API's", "another model's", "no base64", "lost"],
)
def test_reasoning_that_is_not_its_own_is_dropped(block: ThinkingMessageContent) -> None:
    found = made(turn("user", "q"), turn("assistant", block, "A"), turn("user", "b"))
    assert found.payload["messages"][1]["content"] == [{"text": "A"}]
    assert kinds(found) == [("origin_of_reasoning", "dropped")]


def test_reasoning_stands_before_the_calls() -> None:
    signed = ThinkingMessageContent("hm", signature="s", origin=OWN)
    call = ActionCallMessageContent("c1", "look")
    done = turn("user", ActionResultMessageContent("c1", "r"))
    found = made(turn("user", "q"), turn("assistant", call, signed), done, tools=TOOLS)
    assert [*map(list, found.payload["messages"][1]["content"])] == [["reasoningContent"], ["toolUse"]]
    assert kinds(found) == [("lead_with_reasoning", "moved")]


# --- media ----------------------------------------------------------------------------------------


def test_an_image_is_raw_bytes_and_the_bytes_say_what_it_is() -> None:
    found = made(turn("user", "see", ImageMessageContent(b64(PNG), media_type="image/jpg")))
    assert found.payload["messages"][0]["content"][1] == {"image": {"format": "png", "source": {"bytes": PNG}}}
    assert kinds(found) == [("frame", "coerced")]


def test_images_stand_in_turns_of_the_assistant_as_well() -> None:
    assert assistant("see", ImageMessageContent(b64(PNG)))[1]["image"]["format"] == "png"


def test_base64_in_the_other_alphabet_and_unpadded_is_the_same_image() -> None:
    data = PNG + b"\xfb\xef\xff\xfe"
    text = base64.urlsafe_b64encode(data).decode().rstrip("=")
    assert user(ImageMessageContent(text, media_type="image/png"))[0]["image"]["source"]["bytes"] == data


def test_an_address_in_s3_goes_as_it_is() -> None:
    image = ImageMessageContent(url="s3://bucket/a.webp", native={"bucketOwner": "123456789012"}, origin=OWN)
    place = {"s3Location": {"uri": "s3://bucket/a.webp", "bucketOwner": "123456789012"}}
    assert user(image) == [{"image": {"format": "webp", "source": place}}]
    typed = ImageMessageContent(url="s3://bucket/key", media_type="image/gif")
    assert user(typed)[0]["image"]["format"] == "gif"


@pytest.mark.parametrize(
    ("block", "named"),
    [
        (ImageMessageContent(url="https://example.org/pic.png"), "https://example.org/pic.png"),
        (ImageMessageContent(url="s3://bucket/key"), "s3://bucket/key"),
        (ImageMessageContent(file_id="file-1"), "file-1"),
        (ImageMessageContent("äää", media_type="image/png"), "no base64"),
        (ImageMessageContent("", media_type="image/png"), "empty"),
        (ImageMessageContent(), "neither data nor an address"),
        (ImageMessageContent(b64(b"<svg/>"), media_type="image/svg+xml"), "image/svg+xml"),
        (AudioMessageContent(b64(b"ID3"), media_type="audio/mpeg"), "audio"),
        (DocumentMessageContent(b64(b"PK"), media_type="application/zip"), "application/zip"),
    ],
)
def test_media_that_cannot_be_sent_are_refused_by_name(block: Any, named: str) -> None:
    with pytest.raises(ConversionError) as error:
        made(turn("user", "see", block))
    assert named in str(error.value)
    assert error.value.refs == ((0, 1),)


def test_an_address_is_fetched_where_the_caller_offers_it() -> None:
    image = ImageMessageContent(url="https://example.org/pic")
    assert user(image, fetch={"https://example.org/pic": (PNG, "image/png")})[0]["image"]["source"] == {"bytes": PNG}


def test_a_note_may_stand_for_media() -> None:
    sound = AudioMessageContent(b64(b"ID3"), media_type="audio/mpeg", transcript="la la")
    assert user(sound, unsupported_media="text") == [{"text": "la la"}]
    kept_there = AudioMessageContent(id="a1", transcript="hello")
    assert user(kept_there, unsupported_media="text", model=None) == [{"text": "hello"}]
    picture = ImageMessageContent(b64(b"<svg/>"), media_type="image/svg+xml")
    assert user(picture, unsupported_media="text") == [{"text": "[image/svg+xml not sent]"}]
    document = DocumentMessageContent(b64(PDF), media_type="application/pdf")
    micro = user(document, unsupported_media="text", model="amazon.nova-micro-v1:0")
    assert micro == [{"text": "[application/pdf not sent]"}]


def test_sound_goes_to_models_that_may_hear_it() -> None:
    sound = AudioMessageContent(b64(b"RIFF0000WAVE"), media_type="audio/x-wav")
    assert user(sound, model="us.amazon.nova-2-omni-v1:0") == [
        {"audio": {"format": "wav", "source": {"bytes": b"RIFF0000WAVE"}}}
    ]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (DocumentMessageContent(b64(PDF), name="a.pdf"), {"format": "pdf", "source": {"bytes": PDF}}),
        (DocumentMessageContent(b64(b"PK"), name="a.docx"), {"format": "docx", "source": {"bytes": b"PK"}}),
        (
            DocumentMessageContent(b64(b"x"), media_type="text/markdown", name="a"),
            {"format": "md", "source": {"bytes": b"x"}},
        ),
        (DocumentMessageContent(text="plain", name="a"), {"format": "txt", "source": {"text": "plain"}}),
        (
            DocumentMessageContent(text="<p>", media_type="text/html", name="a"),
            {"format": "html", "source": {"text": "<p>"}},
        ),
        (
            DocumentMessageContent(parts=(TextMessageContent("x"), TextMessageContent("y")), name="a"),
            {"format": "txt", "source": {"content": [{"text": "x"}, {"text": "y"}]}},
        ),
        (
            DocumentMessageContent(url="s3://bucket/a.csv", name="a"),
            {"format": "csv", "source": {"s3Location": {"uri": "s3://bucket/a.csv"}}},
        ),
        (
            DocumentMessageContent(
                text="t", name="a", context="of 2024", native={"citations": {"enabled": True}}, origin=OWN
            ),
            {"format": "txt", "source": {"text": "t"}, "context": "of 2024", "citations": {"enabled": True}},
        ),
    ],
)
def test_documents(block: DocumentMessageContent, expected: dict[str, Any]) -> None:
    assert user(block) == [{"document": {"name": "a", **expected}}]


# --- calls and results ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (ActionCallMessageContent("c1", "look", input={"a": 1}), {"a": 1}),
        (ActionCallMessageContent("c1", "look", input=None, arguments=""), {}),
        (ActionCallMessageContent("c1", "look", input=None, arguments="[1]"), {"_value": [1]}),
        (InvalidActionCallMessageContent("c1", "look", raw='{"a": '), {"_raw": '{"a": '}),
    ],
)
def test_arguments_are_an_object(block: Any, expected: dict[str, Any]) -> None:
    done = turn("user", ActionResultMessageContent("c1", "r"))
    found = made(turn("user", "q"), turn("assistant", block), done, tools=TOOLS)
    expected_node = {"toolUse": {"toolUseId": "c1", "name": "look", "input": expected}}
    assert found.payload["messages"][1]["content"] == [expected_node]


def test_a_result_is_a_list_of_blocks() -> None:
    image = ImageMessageContent(b64(PNG))
    document = DocumentMessageContent(b64(PDF), name="a.pdf")
    parts = (TextMessageContent("see"), image, document)
    assert result(ActionResultMessageContent("c1", parts=parts)) == {
        "toolUseId": "c1",
        "content": [
            {"text": "see"},
            {"image": {"format": "png", "source": {"bytes": PNG}}},
            {"document": {"format": "pdf", "name": "a", "source": {"bytes": PDF}}},
        ],
    }


@pytest.mark.parametrize("output", [None, "", " \n"])
def test_an_empty_result_is_said_to_be_empty(output: Any) -> None:
    assert result(ActionResultMessageContent("c1", output))["content"] == [{"text": "(no output)"}]


def test_data_is_text_unless_the_model_takes_it() -> None:
    block = ActionResultMessageContent("c1", {"a": float("nan")})
    assert result(block)["content"] == [{"text": '{"a": "NaN"}'}]
    assert result(block, facts={"tool_result_json": True})["content"] == [{"json": {"a": "NaN"}}]
    listed = ActionResultMessageContent("c1", [1])
    assert result(listed, facts={"tool_result_json": True})["content"] == [{"text": "[1]"}]


def test_a_failure_is_a_status_where_the_model_knows_one() -> None:
    failed = ActionResultMessageContent("c1", "boom", is_error=True)
    assert result(failed) == {"toolUseId": "c1", "content": [{"text": "boom"}], "status": "error"}
    assert result(failed, model=NOVA)["status"] == "error"
    assert result(failed, model="meta.llama3-1-70b-instruct-v1:0")["content"] == [{"text": "Error: boom"}]
    shown = ActionResultMessageContent("c1", parts=(ImageMessageContent(b64(PNG)),), is_error=True)
    told = result(shown, model="mistral.mistral-large-2407-v1:0")["content"]
    assert told[0] == {"text": "Error: "}
    assert list(told[1]) == ["image"]


def test_a_result_with_data_of_this_api_keeps_it() -> None:
    part = TextMessageContent('{"a": 1}', native={"json": {"a": 1}}, origin=OWN)
    assert result(ActionResultMessageContent("c1", parts=(part,)))["content"] == [{"json": {"a": 1}}]


def test_blocks_of_a_result_that_only_one_api_knows() -> None:
    video = {"video": {"format": "mp4", "source": {"bytes": b64(b"film")}}}
    own, theirs = GenericMessageContent(video, origin=OWN), GenericMessageContent({"type": "x"}, origin=Origin("other"))
    block = ActionResultMessageContent("c1", parts=(TextMessageContent("t"), own, theirs))
    call = turn("assistant", ActionCallMessageContent("c1", "look"))
    found = made(turn("user", "q"), call, turn("user", block), tools=TOOLS)
    content = found.payload["messages"][2]["content"][0]["toolResult"]["content"]
    assert content == [{"text": "t"}, {"video": {"format": "mp4", "source": {"bytes": b"film"}}}]
    assert kinds(found) == [("frame", "rewritten")]


def test_sound_in_a_result_moves_to_the_user() -> None:
    block = ActionResultMessageContent("c1", parts=(AudioMessageContent(b64(b"ID3")), TextMessageContent("t")))
    call = turn("assistant", ActionCallMessageContent("c1", "look"))
    found = made(turn("user", "q"), call, turn("user", block), tools=TOOLS, model=None)
    content = found.payload["messages"][2]["content"]
    assert [*map(list, content)] == [["toolResult"], ["text"], ["audio"]]
    assert content[0]["toolResult"]["content"] == [{"text": "t"}]


# --- blocks of this API's own ---------------------------------------------------------------------


def test_own_blocks_go_back_with_their_data_as_bytes() -> None:
    value = {"guardContent": {"image": {"format": "png", "source": {"bytes": b64(PNG)}}}}
    assert user(GenericMessageContent(value, origin=OWN)) == [
        {"guardContent": {"image": {"format": "png", "source": {"bytes": PNG}}}}
    ]


def test_what_a_model_wrote_is_not_taken_for_data() -> None:
    call = {"toolUse": {"toolUseId": "s1", "name": "f", "type": "server_tool_use", "input": {"bytes": "AAAA"}}}
    data = {"toolResult": {"toolUseId": "s1", "type": "x", "content": [{"json": {"bytes": "AAAA"}}]}}
    blocks = [GenericMessageContent(value, origin=OWN) for value in (call, data)]
    assert assistant(*blocks, "done") == [call, data, {"text": "done"}]


def test_blocks_of_other_apis_are_dropped() -> None:
    theirs = GenericMessageContent({"type": "web_search_call"}, origin=Origin("codex_responses"))
    found = made(turn("user", "q"), turn("assistant", theirs, "A"), turn("user", "b"))
    assert found.payload["messages"][1]["content"] == [{"text": "A"}]
    assert kinds(found) == [("drop_generic_of_others", "dropped")]


# --- cache marks ----------------------------------------------------------------------------------


def test_a_mark_is_a_block_behind_what_it_marks() -> None:
    point = {"cachePoint": {"type": "default"}}
    assert user(TextMessageContent("long", cache=True)) == [{"text": "long"}, point]
    call = turn("assistant", ActionCallMessageContent("c1", "look"))
    done = turn("user", ActionResultMessageContent("c1", "r", cache=True), "next")
    content = made(turn("user", "q"), call, done, tools=TOOLS).payload["messages"][2]["content"]
    assert [*map(list, content)] == [["toolResult"], ["cachePoint"], ["text"]]


def test_marks_of_system_and_tools() -> None:
    tools = [{**TOOLS[0], "cache": True}]
    rules = Message("system", (TextMessageContent("rules", cache="1h"),))
    payload = made(rules, turn("user", "q"), tools=tools).payload
    assert payload["system"] == [{"text": "rules"}, {"cachePoint": {"type": "default", "ttl": "1h"}}]
    assert list(payload["toolConfig"]["tools"][0]) == ["toolSpec"]
    assert payload["toolConfig"]["tools"][1] == {"cachePoint": {"type": "default"}}


def test_a_lifetime_that_is_not_known_becomes_the_usual_one() -> None:
    found = made(turn("user", TextMessageContent("long", cache="1h"), "q"), model=NOVA)
    assert found.payload["messages"][0]["content"][1] == {"cachePoint": {"type": "default"}}
    assert kinds(found) == [("frame", "coerced")]


def test_no_marks_where_there_is_no_cache() -> None:
    found = made(turn("user", TextMessageContent("long", cache=True), "q"), model="meta.llama3-1-70b-instruct-v1:0")
    assert found.payload["messages"][0]["content"] == [{"text": "long"}, {"text": "q"}]
    assert kinds(found) == [("limit_cache_marks", "dropped")]


def test_a_mark_is_traced_to_what_it_marks() -> None:
    found = made(turn("user", TextMessageContent("long", cache=True), "q"), trace=True)
    assert found.trace is not None
    assert {pointer: tuple(map(tuple, refs)) for pointer, refs in found.trace.items()} == {
        "/messages/0/content/0": ((0, 0),),
        "/messages/0/content/1": ((0, 0),),
        "/messages/0/content/2": ((0, 1),),
    }
