"""Answers, whole and streamed: parts, finish reasons, usage, errors, repeats, arguments in pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    AudioMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
)

API = "gemini_native"
SEAL = "c2VhbA=="


def answer(*parts: Any, finish: Any = "STOP", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "responseId": "r1", "modelVersion": "gemini-3-pro", **more}


def piece(*parts: Any, finish: Any = None, **more: Any) -> dict[str, Any]:
    return answer(*parts, finish=finish, **more)


def whole(*parts: Any, **more: Any) -> Any:
    return ln.normalize(answer(*parts, **more), API)


def streamed(*chunks: Any) -> Any:
    return ln.aggregate(chunks, API)


def call(name: str = "f", sealed: str | None = None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"functionCall": {"name": name, **more}}
    return found if sealed is None else {**found, "thoughtSignature": sealed}


# --- parts ----------------------------------------------------------------------------------------


def test_texts_are_joined_with_nothing() -> None:
    found = whole({"text": "a"}, {"text": " b"})
    assert (found.text, len(found.message.content), found.finish_reason) == ("a b", 1, "stop")
    assert (found.id, found.model, found.raw_finish_reason, found.complete) == ("r1", "gemini-3-pro", "STOP", True)


def test_a_signature_makes_a_part_a_block_of_its_own() -> None:
    found = streamed(piece({"text": "a"}), piece({"text": "b", "thoughtSignature": SEAL}), answer({"text": "c"}))
    assert found.text == "abc"
    assert [(block.text, block.thought_signature) for block in found.message.content] == [
        ("a", None),
        ("b", SEAL),
        ("c", None),
    ]
    assert found.message.content[1].origin.model == "gemini-3-pro"


def test_a_signature_without_text_is_kept() -> None:
    for part in ({"text": "", "thoughtSignature": SEAL}, {"thoughtSignature": SEAL}):
        found = streamed(piece({"text": "a"}), answer(part))
        assert found.message.content[1].thought_signature == SEAL
        assert (found.text, found.finish_reason) == ("a", "stop")


def test_thoughts_are_thinking() -> None:
    found = whole(
        {"text": "hm", "thought": True}, {"text": "x"}, {"text": "m", "thought": True, "thoughtSignature": SEAL}
    )
    assert [type(block) for block in found.message.content] == [
        ThinkingMessageContent,
        TextMessageContent,
        ThinkingMessageContent,
    ]
    assert [(each["text"], each["signature"]) for each in found.reasoning] == [("hm", None), ("m", SEAL)]
    assert found.text == "x"


def test_calls_end_with_stop_and_mean_tool_calls() -> None:
    found = whole(call("f", SEAL, id="1", args={"a": 1.5}), call("g", id="2"))
    assert found.finish_reason == "tool_calls"
    assert [(each.tag, each.name, each.input, each.thought_signature) for each in found.tool_calls] == [
        ("1", "f", {"a": 1.5}, SEAL),
        ("2", "g", {}, None),
    ]


def test_a_call_without_id_gets_one() -> None:
    found = whole(call("f", args={"a": 1}), call("f", args={"a": 1}))
    tags = [each.tag for each in found.tool_calls]
    assert all(tag.startswith("call_") for tag in tags)
    assert len(set(tags)) == 2
    assert tags == [each.tag for each in whole(call("f", args={"a": 1}), call("f", args={"a": 1})).tool_calls]


def test_arguments_that_are_no_object_make_an_invalid_call() -> None:
    [block] = whole(call("f", args=[1])).message.content
    assert (type(block), block.raw) == (InvalidActionCallMessageContent, "[1]")


def test_media_of_an_answer() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": SEAL}
    film = {"fileData": {"fileUri": "gs://b/a.mp4", "mimeType": "video/mp4"}}
    found = whole(image, film)
    picture, document = found.message.content
    assert (type(picture), picture.data, picture.native) == (ImageMessageContent, "AAAA", {"thoughtSignature": SEAL})
    assert picture.origin.model == "gemini-3-pro"
    assert (type(document), document.file_id) == (DocumentMessageContent, "gs://b/a.mp4")


def test_pieces_of_sound_are_one() -> None:
    def sound(data: str) -> dict[str, Any]:
        return {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": data}}

    [block] = streamed(piece(sound("AAAA")), piece(sound("/w==")), answer({"text": ""})).message.content
    assert (type(block), block.data, block.media_type) == (AudioMessageContent, "AAAA/w==", "audio/L16;rate=24000")


def test_any_other_part_is_kept_as_it_came() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": SEAL}
    block, text = whole(code, {"text": "1"}).message.content
    assert (type(block), block.value, block.origin.api) == (GenericMessageContent, code, API)
    assert text.text == "1"


def test_what_was_answered_goes_back() -> None:
    parts = [
        {"text": "a"},
        {"toolCall": {"toolType": "GOOGLE_SEARCH", "args": {"some_key": 1}}, "thoughtSignature": SEAL},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "thoughtSignature": SEAL},
        call("f", SEAL, id="1", args={"a": 1}),
    ]
    stack = PromptStack.from_artifact("q")
    stack.messages.append(whole(*parts).message)
    stack.add_user_message(ln.ActionArtifact(ln.ToolAction("1", "f", output="x")))
    sent = ln.convert(stack, API, model="gemini-3-pro")
    assert not isinstance(sent, dict)
    assert sent.to_json()["contents"][1] == {"role": "model", "parts": parts}
    assert sent.changes == ()


def test_sources_are_citations_each_once() -> None:
    more = {"citationMetadata": {"citationSources": [{"uri": "u"}]}, "groundingMetadata": {"webSearchQueries": ["q"]}}
    one = answer({"text": "x"})
    one["candidates"][0] |= more
    found = streamed(one, one)
    assert found.citations == ({"uri": "u"}, {"webSearchQueries": ["q"]})


def test_what_else_is_told_is_kept() -> None:
    one = answer({"text": "x"}, finish="CONTINUATION")
    one["candidates"][0] |= {"safetyRatings": [{"category": "X"}], "continuationToken": "dG9r"}
    found = ln.normalize(one, API)
    assert found.finish_reason == "pause"
    assert found.details == {"safetyRatings": [{"category": "X"}], "continuationToken": "dG9r"}


def test_only_the_first_candidate_counts() -> None:
    one = answer({"text": "x"})
    one["candidates"].append({"index": 1, "content": {"parts": [{"text": "y"}]}})
    found = ln.normalize(one, API)
    assert found.text == "x"
    assert any("more than one candidate" in note for note in found.notes)


# --- how it ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("STOP", "stop"),
        ("FINISH_REASON_UNSPECIFIED", "stop"),
        ("MAX_TOKENS", "length"),
        *[
            (raw, "content_filter")
            for raw in "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY MODEL_ARMOR".split()
        ],
        ("CONTINUATION", "pause"),
        ("NO_IMAGE", "other"),
        ("OTHER", "other"),
        ("SOMETHING_NEW", "other"),
        (0, "stop"),
        (1, "stop"),
        (2, "length"),
        (3, "content_filter"),
        (5, "other"),
        (99, "other"),
    ],
)
def test_finish_reasons(raw: Any, reason: str) -> None:
    for found in (whole({"text": "t"}, finish=raw), streamed(answer({"text": "t"}, finish=raw))):
        assert (found.finish_reason, found.raw_finish_reason, found.text) == (reason, str(raw), "t")
        assert found.complete


@pytest.mark.parametrize(
    ("raw", "kind", "retryable"),
    [
        ("MALFORMED_FUNCTION_CALL", "malformed_function_call", True),
        ("UNEXPECTED_TOOL_CALL", "malformed_response", True),
        ("TOO_MANY_TOOL_CALLS", "malformed_response", True),
        ("MALFORMED_RESPONSE", "malformed_response", True),
        ("MISSING_THOUGHT_SIGNATURE", "invalid_request_error", False),
    ],
)
def test_finish_reasons_that_are_errors(raw: str, kind: str, retryable: bool) -> None:
    one = {"candidates": [{"finishReason": raw, "finishMessage": "bad"}]}
    for found in (ln.normalize(one, API), streamed(one)):
        assert (found.finish_reason, found.raw_finish_reason, found.complete) == ("error", raw, True)
        assert found.error is not None
        assert (found.error.type, found.error.raw_type, found.error.retryable) == (kind, raw, retryable)
        assert found.error.message == "bad"
    kinds = [delta.kind for delta in ln.normalize_stream([one], API)]
    assert kinds == ["start", "finish", "error", "end"]


def test_a_refused_prompt() -> None:
    found = ln.normalize({"promptFeedback": {"blockReason": "SAFETY"}}, API)
    assert (found.finish_reason, found.raw_finish_reason, found.text) == ("content_filter", "SAFETY", "")
    assert found.error is None
    assert streamed({"promptFeedback": {"blockReason": "SAFETY"}}).finish_reason == "content_filter"


def test_nothing_at_all_is_an_error() -> None:
    bodies: list[Any] = [{}, {"candidates": []}, {"usageMetadata": {"promptTokenCount": 1}}]
    for body in bodies:
        found = ln.normalize(body, API)
        assert (found.finish_reason, found.error.type) == ("error", "malformed_response")  # type: ignore[union-attr]


def test_content_without_parts_is_legal() -> None:
    candidates: list[Any] = [{"content": {"role": "model"}}, {"content": {}}, {}]
    for candidate in candidates:
        found = ln.normalize({"candidates": [{**candidate, "finishReason": "MAX_TOKENS"}]}, API)
        assert (found.text, found.finish_reason, found.error) == ("", "length", None)


def test_without_a_reason_a_whole_answer_stopped_and_a_stream_is_incomplete() -> None:
    found = whole({"text": "x"}, finish=None)
    assert (found.finish_reason, found.complete) == ("stop", True)
    assert any("no finish reason" in note for note in found.notes)
    found = streamed(piece({"text": "x"}))
    assert (found.finish_reason, found.complete) == ("incomplete", False)


def test_a_reason_in_every_chunk_ends_nothing() -> None:
    found = streamed(answer({"text": "a"}), answer({"text": "b"}, finish="MAX_TOKENS"))
    assert (found.text, found.finish_reason) == ("ab", "length")


# --- usage ----------------------------------------------------------------------------------------


def test_usage() -> None:
    counts = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 5,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 7,
        "totalTokenCount": 25,
    }
    assert whole({"text": "x"}, usageMetadata=counts).usage.to_dict() == {
        "input_total": 15,
        "input_uncached": 11,
        "cache_read": 4,
        "cache_write": None,
        "output_total": 10,
        "reasoning": 7,
        "total": 25,
    }


def test_a_missing_count_is_unknown_but_candidates_beside_a_total_are_none() -> None:
    assert whole({"text": "x"}).usage.to_dict() == dict.fromkeys(ln.Usage().to_dict())
    counts = {"promptTokenCount": 4, "thoughtsTokenCount": 200, "totalTokenCount": 204}
    assert whole(usageMetadata=counts).usage.output_total == 200
    assert whole(usageMetadata={"promptTokenCount": 4}).usage.output_total is None


def test_each_chunk_counts_everything_so_far() -> None:
    found = streamed(
        piece({"text": "a"}, usageMetadata={"promptTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 8}),
        piece({"text": "b"}),
        answer({"text": "c"}, usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 6, "totalTokenCount": 11}),
    )
    assert (found.usage.output_total, found.usage.reasoning, found.usage.total) == (6, None, 11)


# --- streams --------------------------------------------------------------------------------------


def test_equal_calls_are_two_calls_unless_id_or_signature_say_otherwise() -> None:
    plain = call("f", args={"a": 1})
    assert len(streamed(piece(plain), answer(plain)).tool_calls) == 2
    signed = call("f", SEAL, args={"a": 1})
    assert len(streamed(piece(signed), answer(signed)).tool_calls) == 1
    first, second = call("f", id="1", args={}), call("f", id="1", args={"a": 2})
    [found] = streamed(piece(first), answer(second)).tool_calls
    assert found.input == {"a": 2}


def test_the_deltas_of_a_call() -> None:
    deltas = list(ln.normalize_stream([answer({"text": "a"}, call("f", id="1", args={"a": 1}))], API))
    assert [delta.kind for delta in deltas] == ["start", "text", "block_done", "call", "block_done", "finish", "end"]
    made: Any = deltas[3].content
    assert (made.tag, made.name, json.loads(made.partial_input), made.index) == ("1", "f", {"a": 1}, 1)


def test_a_stream_may_be_a_list() -> None:
    found = ln.aggregate([[piece({"text": "a"}), answer({"text": "b"})]], API)
    assert (found.text, found.complete) == ("ab", True)


def test_an_error_inside_a_stream() -> None:
    error = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}
    for last in (error, [error]):
        found = ln.aggregate([piece({"text": "a"}), last], API)
        assert (found.text, found.finish_reason, found.complete) == ("a", "error", False)
        assert found.error is not None
        assert (found.error.type, found.error.raw_type, found.error.status) == (
            "rate_limit_error",
            "RESOURCE_EXHAUSTED",
            429,
        )
        assert found.error.retryable


def test_arguments_in_pieces_belong_to_the_open_call() -> None:
    def part(**fields: Any) -> dict[str, Any]:
        return piece({"functionCall": fields})

    def arg(path: str, **value: Any) -> dict[str, Any]:
        return {"partialArgs": [{"jsonPath": path, **value}], "willContinue": True}

    found = streamed(
        part(name="f", willContinue=True),
        part(**arg("$.city", stringValue="Os", willContinue=True)),
        part(**arg("$.city", stringValue="lo")),
        part(**arg("$.where[0].lat", numberValue=59.9)),
        part(**arg("$['odd key'][1]", boolValue=True)),
        part(**arg("$.nothing", nullValue="NULL_VALUE")),
        part(),
        part(name="g", args={"a": 1}),
        answer(),
    )
    assert [(each.name, each.input) for each in found.tool_calls] == [
        (
            "f",
            {"city": "Oslo", "where": [{"lat": 59.9}], "odd key": [None, True], "nothing": None},
        ),
        ("g", {"a": 1}),
    ]


def test_arguments_in_pieces_that_never_end() -> None:
    begun = [piece({"functionCall": {"name": "f", "willContinue": True}})]
    begun.append(
        piece({"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}], "willContinue": True}})
    )
    assert streamed(*begun, answer()).tool_calls[0].input == {"a": "x"}
    broken = streamed(*begun)
    assert (broken.tool_calls, [each.name for each in broken.invalid_tool_calls]) == ([], ["f"])


def test_names_of_the_request_are_put_back() -> None:
    tool = {"type": "function", "function": {"name": "3d view"}}
    sent = ln.convert("hi", API, model="gemini-2.5-flash", tools=[tool])
    found = ln.normalize(answer(call("_3d_view")), API, names=sent)
    assert found.tool_calls[0].name == "3d view"
    [made] = ln.aggregate([answer(call("_3d_view"))], API, names=sent).tool_calls
    assert (type(made), made.name) == (ActionCallMessageContent, "3d view")


@pytest.mark.parametrize(
    "chunk",
    [
        None,
        5,
        "x",
        {"candidates": "x"},
        {"candidates": [None]},
        {"candidates": [{"content": {"parts": [None]}}]},
        {"candidates": [{"content": {"parts": [{"text": 5}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "x", "thoughtSignature": 5}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": None}]}}]},
        {"candidates": [{"content": {"parts": [{"inlineData": {}}]}}]},
        {"usageMetadata": 5},
        {"candidates": [{"content": {"parts": [{}]}}]},
    ],
)
def test_what_is_not_understood_breaks_nothing(chunk: Any) -> None:
    found = streamed(piece({"text": "a"}), chunk, answer({"text": "b"}))
    assert found.text in ("ab", "axb")
    assert found.finish_reason == "stop"
    json.dumps(found.to_dict())
