"""Blocks of a message as content, documents, calls and tool messages of Cohere, one row of the rulebook a test."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from llmneutral import Conversion, ConversionError, Message, PromptStack, convert
from llmneutral.ir import contents as c

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()
OWN = c.Origin("cohere_chat")
MODEL = "command-a-vision-07-2025"
TEXT = c.TextMessageContent
CITE = {"start": 0, "end": 1, "text": "a", "sources": [{"type": "tool", "id": "c1:0"}], "type": "TEXT_CONTENT"}


def made(*blocks: Any, role: str = "user", **settings: Any) -> Conversion:
    """A conversion of some blocks in one message; an answer gets its questions around it."""
    messages = [Message(role, blocks)]
    if role == "assistant":
        messages = [Message("user", "q"), *messages, Message("user", "go on")]  # type: ignore[arg-type]  # text is taken
    return convert(PromptStack(messages), "cohere_chat", **{"model": MODEL, **settings})


def message(*blocks: Any, role: str = "user", **settings: Any) -> Any:
    found = made(*blocks, role=role, **settings).payload["messages"]
    return found[1] if role == "assistant" else found[0]


def told(conversion: Conversion) -> list[str]:
    return [change.kind for change in conversion.changes]


# --- text, reasoning ----------------------------------------------------------------------------


def test_one_text_is_a_string_and_several_are_items() -> None:
    assert message(TEXT("a")) == {"role": "user", "content": "a"}
    assert message(TEXT("a"), TEXT("b"))["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert message(TEXT("a"), role="assistant") == {"role": "assistant", "content": "a"}


def test_own_reasoning_stands_in_the_content() -> None:
    found = message(c.ThinkingMessageContent("hm", origin=OWN), TEXT("a"), role="assistant")
    assert found["content"] == [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]


def test_own_citations_stand_beside_the_content_and_others_are_told() -> None:
    found = message(TEXT("a", citations=(CITE,)), role="assistant")
    assert found == {"role": "assistant", "content": "a", "citations": [CITE]}
    foreign = made(TEXT("a", citations=({"url": "https://e.org"},)), role="assistant")
    assert "citations" not in foreign.payload["messages"][1]
    assert told(foreign) == ["coerced"]
    claude = c.Origin("anthropic_messages", "m")
    other = made(TEXT("a", citations=(CITE,), origin=claude), role="assistant")
    assert "citations" not in other.payload["messages"][1]


def test_a_refusal_is_text() -> None:
    found = made(c.RefusalMessageContent("no"), role="assistant")
    assert found.payload["messages"][1]["content"] == [{"type": "text", "text": "no"}]
    assert told(found) == ["rewritten"]


def test_items_of_other_apis_are_dropped() -> None:
    own = c.GenericMessageContent({"type": "x"}, origin=OWN)
    assert message(own)["content"] == [{"type": "x"}]
    found = made(c.GenericMessageContent({"type": "x"}, origin=c.Origin("gemini_native")), TEXT("a"))
    assert told(found) == ["dropped"]


# --- media --------------------------------------------------------------------------------------


def test_pictures_by_address_or_data_url() -> None:
    found = message(c.ImageMessageContent(url="https://e.org/a.png", detail="low"), c.ImageMessageContent(PNG))
    assert found["content"] == [
        {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ]


def test_pictures_only_for_models_that_see() -> None:
    with pytest.raises(ConversionError, match="reads no images"):
        made(c.ImageMessageContent(PNG), model="command-a-03-2025")
    noted = message(c.ImageMessageContent(PNG), model="command-a-03-2025", unsupported_media="text")
    assert noted["content"] == [{"type": "text", "text": "[image not sent]"}]
    with pytest.raises(ConversionError, match="no file id of an image"):
        made(c.ImageMessageContent(file_id="f1"))


def test_sound_is_refused_or_its_transcript_stands_for_it() -> None:
    with pytest.raises(ConversionError, match="takes no audio"):
        made(c.AudioMessageContent("UklGRg=="))
    spoken = made(c.AudioMessageContent(id="a1", transcript="hello"), role="assistant", unsupported_media="text")
    assert spoken.payload["messages"][1]["content"] == [{"type": "text", "text": "hello"}]
    assert told(spoken) == ["rewritten"]
    noted = message(c.AudioMessageContent("UklGRg==", "audio/wav"), unsupported_media="text")
    assert noted["content"] == [{"type": "text", "text": "[audio/wav not sent]"}]


# --- documents ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "document"),
    [
        (c.DocumentMessageContent(text="t"), {"data": {"text": "t"}}),
        (c.DocumentMessageContent(text="t", title="T"), {"data": {"title": "T", "snippet": "t"}}),
        (
            c.DocumentMessageContent(text="t", name="a.txt", context="why"),
            {"id": "a.txt", "data": {"text": "t", "context": "why"}},
        ),
        (c.DocumentMessageContent("Z3LDvG4=", media_type="text/plain"), {"data": {"text": "grün"}}),
        (c.DocumentMessageContent(parts=(TEXT("a"), TEXT("b"))), {"data": {"text": "a\n\nb"}}),
        (
            c.DocumentMessageContent(text="t", native={"document": {"id": "d", "data": {"x": 1}}}, origin=OWN),
            {"id": "d", "data": {"x": 1}},
        ),
        (
            c.DocumentMessageContent(text="t", native={"document": {"data": {}}}, origin=c.Origin("gemini_native")),
            {"data": {"text": "t"}},
        ),
    ],
)
def test_documents_of_text_stand_beside_the_messages(block: Any, document: dict[str, Any]) -> None:
    found = made(TEXT("q"), block)
    assert found.payload["documents"] == [document]
    assert found.payload["messages"] == [{"role": "user", "content": "q"}]
    assert "moved" in told(found)


def test_other_documents_are_refused_or_noted() -> None:
    with pytest.raises(ConversionError, match="application/pdf"):
        made(c.DocumentMessageContent(PDF))
    with pytest.raises(ConversionError, match="no file id of a document"):
        made(c.DocumentMessageContent(file_id="f1"))
    with pytest.raises(ConversionError, match="no address of a document"):
        made(c.DocumentMessageContent(url="https://e.org/a.txt"))
    noted = made(c.DocumentMessageContent(PDF, name="a.pdf"), unsupported_media="text")
    assert "not sent" in noted.payload["documents"][0]["data"]["text"]
    fetched = made(c.DocumentMessageContent(url="https://e.org/a.txt"), fetch=lambda url: (b"words", "text/plain"))
    assert fetched.payload["documents"] == [{"data": {"text": "words"}}]


def test_a_document_is_traced_and_a_message_of_nothing_else_gets_a_text() -> None:
    found = made(c.DocumentMessageContent(text="t"), trace=True)
    assert found.payload["messages"] == [{"role": "user", "content": "(empty message)"}]
    assert found.trace is not None
    assert found.trace["/documents/0"] == ((0, 0),)
    assert told(found) == ["moved", "added"]


def test_two_documents_of_one_id() -> None:
    one, two = (c.DocumentMessageContent(text=text, name="a") for text in "xy")
    found = made(one, two, TEXT("q"), documents=[{"id": "b", "data": {"text": "z"}}, "words"], trace=True)
    assert found.payload["documents"] == [
        {"id": "b", "data": {"text": "z"}},
        "words",
        {"id": "a", "data": {"text": "x"}},
        {"data": {"text": "y"}},
    ]
    assert found.trace is not None
    assert found.trace["/documents/3"] == ((0, 1),)
    assert "coerced" in told(found)


# --- calls and results --------------------------------------------------------------------------

CALL = c.ActionCallMessageContent("c1", "look", input={"a": 1}, arguments='{"a":1}')


def answered(result: Any, call: Any = CALL, **settings: Any) -> Conversion:
    messages = [Message("user", "q"), Message("assistant", (call,)), Message("user", (result,))]  # type: ignore[arg-type]  # text is taken
    return convert(PromptStack(messages), "cohere_chat", **{"model": "command-a-03-2025", **settings})


def worded(text: str) -> list[dict[str, Any]]:
    return [{"type": "document", "document": {"data": {"text": text}}}]


def test_a_call_has_its_arguments_as_text() -> None:
    found = answered(c.ActionResultMessageContent("c1", "ok"))
    assert found.payload["messages"][1] == {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}],
    }
    assert found.payload["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": worded("ok")}
    assert found.changes == ()


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ({"t": 4}, [{"type": "document", "document": {"data": {"t": 4}}}]),
        (' {"t": 4}', [{"type": "document", "document": {"data": {"t": 4}}}]),
        ({}, worded("{}")),
        ("{broken", worded("{broken")),
        ('{"x": 1e400}', worded('{"x": 1e400}')),
        ([1, 2], worded("[1, 2]")),
        (True, worded("true")),
    ],
)
def test_a_result_is_a_document_that_can_be_cited(output: Any, content: Any) -> None:
    assert answered(c.ActionResultMessageContent("c1", output)).payload["messages"][2]["content"] == content


@pytest.mark.parametrize("mode", ["OFF", "DISABLED", "off"])
def test_without_citations_words_are_text_and_objects_stay_documents(mode: str) -> None:
    off = {"citation_options": {"mode": mode}}
    assert answered(c.ActionResultMessageContent("c1", "ok"), **off).payload["messages"][2]["content"] == "ok"
    assert answered(c.ActionResultMessageContent("c1", {"t": 4}), **off).payload["messages"][2]["content"] == [
        {"type": "document", "document": {"data": {"t": 4}}}
    ]
    parts = (TEXT("a"), TEXT("b"))
    assert answered(c.ActionResultMessageContent("c1", parts=parts), **off).payload["messages"][2]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


@pytest.mark.parametrize("result", [c.ActionResultMessageContent("c1", None), c.ActionResultMessageContent("c1", " "),
                                    c.ActionResultMessageContent("c1", parts=())])  # fmt: skip
def test_an_empty_result_has_a_placeholder(result: Any) -> None:
    found = answered(result)
    assert found.payload["messages"][2]["content"] == "(no output)"
    assert told(found) == ["added"]


def test_the_words_of_an_error_say_so() -> None:
    assert answered(c.ActionResultMessageContent("c1", "no", is_error=True)).payload["messages"][2][
        "content"
    ] == worded("Error: no")
    data = answered(c.ActionResultMessageContent("c1", {"t": 4}, is_error=True)).payload["messages"][2]["content"]
    assert data == worded('Error: {"t": 4}')
    parts = c.ActionResultMessageContent("c1", parts=(TEXT("no"), TEXT("b")), is_error=True)
    assert answered(parts).payload["messages"][2]["content"] == [*worded("Error: no"), *worded("b")]
    bare = c.ActionResultMessageContent("c1", parts=(c.DocumentMessageContent(text="t"),), is_error=True)
    assert answered(bare).payload["messages"][2]["content"] == [*worded("Error: "), *worded("t")]


def test_parts_of_a_result() -> None:
    parts = (
        TEXT('{"t": 4}'),
        c.DocumentMessageContent(text="t", name="a"),
        c.GenericMessageContent({"type": "x"}, origin=OWN),
        c.GenericMessageContent({"type": "y"}),
    )
    found = answered(c.ActionResultMessageContent("c1", parts=parts, name="look"))
    assert found.payload["messages"][2]["content"] == [
        {"type": "document", "document": {"data": {"t": 4}}},
        {"type": "document", "document": {"id": "a", "data": {"text": "t"}}},
        {"type": "x"},
        *worded('{"type": "y"}'),
    ]
    assert told(found) == ["rewritten", "rewritten"]
    with pytest.raises(ConversionError, match="takes no audio"):
        answered(c.ActionResultMessageContent("c1", parts=(c.AudioMessageContent("UklGRg=="),)))


def test_pictures_of_a_result_are_shown_by_the_user() -> None:
    result = c.ActionResultMessageContent("c1", parts=(TEXT("see"), c.ImageMessageContent(PNG)))
    found = answered(result, model=MODEL)
    assert [message["role"] for message in found.payload["messages"]] == ["user", "assistant", "tool", "user"]
    assert found.payload["messages"][2]["content"] == worded("see")
    assert [item["type"] for item in found.payload["messages"][3]["content"]] == ["text", "image_url"]


def test_what_only_other_apis_know_of_a_call_is_told() -> None:
    result = c.ActionResultMessageContent("c1", "ok")
    signed = c.ActionCallMessageContent("c1", "look", input={}, thought_signature="s")
    assert told(answered(result, signed)) == ["coerced"]
    custom = c.ActionCallMessageContent("c1", "look", input={"input": "free"}, native={"custom": True})
    assert told(answered(result, custom)) == ["rewritten"]
    broken = answered(result, c.InvalidActionCallMessageContent("c1", "look", raw='{"a": '))
    assert broken.payload["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"a": '
