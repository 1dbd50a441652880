"""Blocks → parts: a test per row of the table of blocks, and the functions that results need."""

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

API = "gemini_native"
OLD, NEW = "gemini-2.5-flash", "gemini-3-pro-preview"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()
HERE = Origin(API, OLD)
FILE = "https://generativelanguage.googleapis.com/v1beta/files/abc"
Text, Call, Result = TextMessageContent, ActionCallMessageContent, ActionResultMessageContent


def turn(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


def convert(messages: list[Message], **settings: Any) -> Any:
    return ln.convert(PromptStack(messages), API, **{"model": OLD, **settings})


def asked(*blocks: Any, **settings: Any) -> Any:
    return convert([turn("user", blocks)], **settings)


def answered(*blocks: Any, **settings: Any) -> Any:
    return convert([turn("user", "q"), turn("assistant", blocks), turn("user", "and?")], **settings)


def called(*results: Any, call: Any = None, **settings: Any) -> Any:
    call = call or Call("c1", "look", input={"a": 1})
    return convert([turn("user", "q"), turn("assistant", (call,)), turn("user", results)], **settings)


def first(conversion: Any, content: int = 0) -> Any:
    return conversion.payload["contents"][content]["parts"][0]


def response(conversion: Any) -> Any:
    return first(conversion, 2)["function_response"]


def kinds(conversion: Any) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


# --- texts ----------------------------------------------------------------------------------------


def test_turns_are_contents_of_parts_and_the_assistant_is_the_model() -> None:
    found = convert([turn("user", "hi"), turn("assistant", "yes"), turn("user", "go")])
    assert found.payload["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "yes"}]},
        {"role": "user", "parts": [{"text": "go"}]},
    ]
    assert found.to_json()["contents"] is not None
    assert found.changes == ()


def test_a_text_goes_back_with_its_signature() -> None:
    found = answered(Text("x", thought_signature="c2VhbA=="))
    assert first(found, 1) == {"text": "x", "thought_signature": b"seal"}
    assert found.to_json()["contents"][1]["parts"] == [{"text": "x", "thoughtSignature": "c2VhbA=="}]
    assert found.changes == ()


@pytest.mark.parametrize("origin", [Origin(API, "gemini-3-flash"), Origin("anthropic_messages", "claude-opus-5")])
def test_a_signature_of_another_model_is_left_out(origin: Origin) -> None:
    found = answered(Text("x", thought_signature="c2VhbA==", origin=origin), model=NEW)
    assert first(found, 1) == {"text": "x"}
    assert kinds(found) == [("frame", "coerced")]


def test_a_signature_that_is_no_base64_is_left_out() -> None:
    assert first(answered(Text("x", thought_signature="no seal!")), 1) == {"text": "x"}


def test_googles_chat_keeps_the_same_signatures() -> None:
    block = Text("x", thought_signature="c2VhbA==", origin=Origin("chat_completions", OLD))
    assert first(answered(block), 1)["thought_signature"] == b"seal"


def test_a_blank_text_is_kept_only_for_its_signature() -> None:
    found = answered(Text("hi"), Text("", thought_signature="c2VhbA=="), Text(" "))
    assert found.payload["contents"][1]["parts"] == [{"text": "hi"}, {"text": "", "thought_signature": b"seal"}]
    assert kinds(found) == [("drop_blank_text", "dropped")]


def test_citations_stay_behind_and_a_refusal_is_text() -> None:
    found = answered(Text("x", citations=({"uri": "u"},)), RefusalMessageContent("No."))
    assert found.payload["contents"][1]["parts"] == [{"text": "x"}, {"text": "[refused] No."}]
    assert kinds(found) == [("frame", "coerced"), ("frame", "rewritten")]


def test_what_only_this_api_said_of_a_part_goes_back() -> None:
    block = Text("x", native={"partMetadata": {"a_b": 1}}, origin=HERE)
    assert answered(block).to_json()["contents"][1]["parts"] == [{"text": "x", "partMetadata": {"a_b": 1}}]
    assert first(answered(Text("x", native={"partMetadata": {}}, origin=Origin("codex_responses"))), 1) == {"text": "x"}


# --- thoughts -------------------------------------------------------------------------------------


def test_a_signed_thought_goes_back_as_it_came() -> None:
    found = answered(ThinkingMessageContent("why", signature="c2VhbA==", origin=HERE), Text("so"))
    assert first(found, 1) == {"text": "why", "thought": True, "thought_signature": b"seal"}
    assert found.changes == ()


def test_summaries_are_dropped_and_said_once() -> None:
    blocks = (ThinkingMessageContent("a", origin=HERE), Text("x"), ThinkingMessageContent("b"))
    found = answered(*blocks)
    assert found.payload["contents"][1]["parts"] == [{"text": "x"}]
    [change] = found.changes
    assert (change.kind, [tuple(ref) for ref in change.refs]) == ("dropped", [(1, 0), (1, 2)])


def test_foreign_reasoning_may_stand_as_text_but_never_own_summaries() -> None:
    theirs, ours = Origin("anthropic_messages", "claude-opus-5"), HERE
    blocks = (ThinkingMessageContent("a", origin=theirs), ThinkingMessageContent("b", origin=ours), Text("x"))
    found = answered(*blocks, foreign_reasoning="text")
    assert found.payload["contents"][1]["parts"] == [{"text": "a"}, {"text": "x"}]


@pytest.mark.parametrize(
    "block",
    [
        ThinkingMessageContent(data="blob"),
        ThinkingMessageContent("t", signature="no base64!"),
        ThinkingMessageContent("t", signature="c2VhbA==", origin=Origin("anthropic_messages", "claude-opus-5")),
        ThinkingMessageContent("t", encrypted_content="ZW5j"),
    ],
)
def test_reasoning_that_cannot_be_geminis_is_dropped(block: ThinkingMessageContent) -> None:
    found = answered(block, Text("x"))
    assert found.payload["contents"][1]["parts"] == [{"text": "x"}]
    assert kinds(found) == [("origin_of_reasoning", "dropped")]


# --- media ----------------------------------------------------------------------------------------


def test_media_are_bytes_with_a_type() -> None:
    found = asked(
        ImageMessageContent(PNG, media_type="image/jpg"),
        DocumentMessageContent(PDF, name="a.pdf"),
        AudioMessageContent(base64.b64encode(b"ID3x").decode()),
        DocumentMessageContent("AAAA", media_type="video/mp4"),
    )
    image, document, sound, film = [part["inline_data"] for part in found.payload["contents"][0]["parts"]]
    assert image == {"mime_type": "image/png", "data": base64.b64decode(PNG)}
    assert document == {"mime_type": "application/pdf", "data": base64.b64decode(PDF), "display_name": "a.pdf"}
    assert sound["mime_type"] == "audio/mpeg"
    assert film["mime_type"] == "video/mp4"
    assert found.to_json()["contents"][0]["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": PNG}}
    assert [change.kind for change in found.changes] == ["coerced"]  # the wrong declaration


def test_raw_sound_keeps_its_rate() -> None:
    block = AudioMessageContent("AAAA", media_type="audio/L16;codec=pcm;rate=24000")
    assert first(asked(block))["inline_data"]["mime_type"] == "audio/L16;codec=pcm;rate=24000"


def test_a_picture_stays_in_the_answer_it_was_made_in() -> None:
    block = ImageMessageContent(PNG, media_type="image/png", native={"thoughtSignature": "c2VhbA=="}, origin=HERE)
    found = answered(block)
    assert first(found, 1)["thought_signature"] == b"seal"
    assert found.changes == ()


@pytest.mark.parametrize("address", ["gs://bucket/a.png", FILE, "https://www.youtube.com/watch?v=1"])
def test_addresses_google_reads_itself_are_files(address: str) -> None:
    found = asked(DocumentMessageContent(url=address, media_type="video/mp4"))
    assert first(found) == {"file_data": {"file_uri": address, "mime_type": "video/mp4"}}


def test_a_file_google_knows_needs_no_type() -> None:
    assert first(asked(DocumentMessageContent(url=FILE))) == {"file_data": {"file_uri": FILE}}
    assert first(asked(ImageMessageContent(file_id="files/abc"))) == {"file_data": {"file_uri": FILE}}
    with pytest.raises(ConversionError, match=r"file-1.*URI"):
        asked(ImageMessageContent(file_id="file-1"))


def test_an_address_is_taken_on_vertex_only() -> None:
    block = ImageMessageContent(url="https://x.test/a.webp?s=1")
    with pytest.raises(ConversionError, match=r"https://x\.test/a\.webp"):
        asked(block)
    on_vertex = asked(block, provider="vertex")
    assert first(on_vertex) == {"file_data": {"file_uri": "https://x.test/a.webp?s=1", "mime_type": "image/webp"}}
    with pytest.raises(ConversionError, match="media_type"):
        asked(ImageMessageContent(url="https://x.test/picture"), provider="vertex")


def test_an_address_this_api_was_given_before_goes_back() -> None:
    block = ImageMessageContent(url="https://x.test/a", media_type="image/png", origin=HERE)
    assert first(asked(block))["file_data"]["file_uri"] == "https://x.test/a"


def test_fetched_bytes_have_the_type_that_came_with_them() -> None:
    fetch = {"https://x.test/a?f=webp": (base64.b64decode(PNG), "image/png")}
    found = asked(ImageMessageContent(url="https://x.test/a?f=webp"), fetch=fetch)
    assert first(found)["inline_data"]["mime_type"] == "image/png"


def test_media_without_type_or_of_no_base64_are_refused() -> None:
    with pytest.raises(ConversionError, match="media_type"):
        asked(DocumentMessageContent("AAAA"))
    with pytest.raises(ConversionError, match="base64"):
        asked(DocumentMessageContent("A!", media_type="text/csv"))


def test_text_documents_are_text_files() -> None:
    found = asked(DocumentMessageContent(text="größer", title="t", name="a.txt"))
    assert first(found)["inline_data"] == {
        "mime_type": "text/plain",
        "data": "größer".encode(),
        "display_name": "a.txt",
    }
    assert kinds(found) == [("frame", "coerced")]
    found = asked(DocumentMessageContent(parts=(Text("a"), Text("b"))))
    assert first(found)["inline_data"]["data"] == b"a\n\nb"


def test_sound_kept_elsewhere_is_its_transcript() -> None:
    found = answered(AudioMessageContent(id="audio_1", transcript="hello"))
    assert first(found, 1) == {"text": "hello"}
    assert kinds(found) == [("frame", "rewritten")]


def test_a_hint_of_resolution_is_dropped() -> None:
    assert kinds(asked(ImageMessageContent(PNG, media_type="image/png", detail="low"))) == [("frame", "dropped")]


def test_a_model_that_reads_no_pictures_gets_a_note_if_asked() -> None:
    facts = {"vision": False}
    with pytest.raises(ConversionError, match="image"):
        asked(ImageMessageContent(PNG), facts=facts)
    assert first(asked(ImageMessageContent(PNG), facts=facts, unsupported_media="text")) == {"text": "[image not sent]"}


# --- calls and results ----------------------------------------------------------------------------


def test_a_call_and_its_result_by_the_name_of_the_function() -> None:
    found = called(Result("c1", "4 C"))
    assert first(found, 1) == {"function_call": {"name": "look", "args": {"a": 1}}}
    assert first(found, 2) == {"function_response": {"name": "look", "response": {"output": "4 C"}}}
    assert found.changes == ()


def test_ids_go_to_models_that_know_them_and_back_to_where_they_came_from() -> None:
    signed = Call("c1", "look", thought_signature="c2VhbA==")
    found = called(Result("c1", ""), call=signed, model=NEW)
    assert (first(found, 1)["function_call"]["id"], response(found)["id"]) == ("c1", "c1")
    own = Call("c1", "look", native={"id": "c1"}, origin=HERE)
    found = called(Result("c1", ""), call=own)
    assert (first(found, 1)["function_call"]["id"], response(found)["id"]) == ("c1", "c1")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (None, {"output": ""}),
        ("", {"output": ""}),
        ("plain", {"output": "plain"}),
        ("105", {"output": "105"}),
        ('{"k": 1}', {"k": 1}),
        ("[1, 2]", {"output": [1, 2]}),
        ("{no json", {"output": "{no json"}),
        ({"k": [1]}, {"k": [1]}),
        ([1, 2], {"output": [1, 2]}),
        (True, {"output": True}),
    ],
)
def test_a_response_is_an_object(output: Any, said: Any) -> None:
    assert response(called(Result("c1", output)))["response"] == said


def test_an_error_stands_under_error() -> None:
    assert response(called(Result("c1", "broken", is_error=True)))["response"] == {"error": "broken"}
    assert response(called(Result("c1", {"code": 5}, is_error=True)))["response"] == {"error": {"code": 5}}


def test_nan_in_a_result_goes_as_text_and_is_told() -> None:
    found = called(Result("c1", {"mean": float("nan"), "n": 3}))
    assert response(found)["response"] == {"mean": "NaN", "n": 3}
    assert kinds(found) == [("frame", "coerced")]


def test_arguments_that_are_no_object_are_wrapped() -> None:
    found = called(Result("c1", "x"), call=InvalidActionCallMessageContent("c1", "look", raw='{"a": '))
    assert first(found, 1)["function_call"]["args"] == {"_raw": '{"a": '}
    assert kinds(found) == [("frame", "coerced")]


def test_media_in_a_result_stand_beside_the_response_from_gemini_3_on() -> None:
    result = Result("c1", parts=(Text("desk"), ImageMessageContent(PNG, media_type="image/png")))
    signed = Call("c1", "look", thought_signature="c2VhbA==")
    found = called(result, call=signed, model=NEW)
    assert response(found)["response"] == {"output": "desk"}
    assert response(found)["parts"] == [{"inline_data": {"mime_type": "image/png", "data": base64.b64decode(PNG)}}]
    assert found.changes == ()


def test_before_gemini_3_the_user_shows_the_media_of_a_result() -> None:
    result = Result("c1", parts=(Text("desk"), ImageMessageContent(PNG, media_type="image/png")))
    found = convert([*_turns(result), turn("user", "and?")])
    parts = found.payload["contents"][2]["parts"]
    assert [next(iter(part)) for part in parts] == ["function_response", "text", "inline_data", "text"]
    assert parts[1] == {"text": "Image from tool call c1:"}
    assert ("move_media", "moved") in kinds(found)


def _turns(result: ActionResultMessageContent) -> list[Message]:
    return [turn("user", "q"), turn("assistant", (Call("c1", "look"),)), turn("user", (result,))]


def test_other_blocks_in_a_result() -> None:
    theirs = GenericMessageContent({"type": "x"}, origin=Origin("anthropic_messages"))
    found = called(Result("c1", parts=(Text("a"), theirs, RefusalMessageContent("No."))))
    assert response(found)["response"] == {"output": "a\nNo."}
    assert kinds(found) == [("frame", "rewritten"), ("frame", "rewritten")]


def test_a_part_of_this_api_goes_back_verbatim() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2VhbA=="}
    served = {"toolResponse": {"toolType": "GOOGLE_SEARCH", "response": {"some_key": 1}}}
    found = answered(GenericMessageContent(code, origin=HERE), GenericMessageContent(served, origin=HERE), Text("1"))
    assert first(found, 1) == {
        "executable_code": {"language": "PYTHON", "code": "1"},
        "thought_signature": b"seal",
    }
    assert found.to_json()["contents"][1]["parts"] == [code, served, {"text": "1"}]
    found = answered(GenericMessageContent({"type": "x"}, origin=Origin("codex_responses")), Text("1"))
    assert found.payload["contents"][1]["parts"] == [{"text": "1"}]
