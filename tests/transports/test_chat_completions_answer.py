"""Answers of Chat Completions and its imitators, whole and streamed."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from llmneutral import NormalizedResponse, aggregate, convert, normalize, normalize_stream
from llmneutral.ir import contents as c
from llmneutral.ir.deltas import ThinkingDeltaMessageContent
from llmneutral.transports.chat_completions.answer import FINISH, joined_details, usage

DONE = "[DONE]"


def whole(message: dict[str, Any], finish: Any = "stop", **body: Any) -> NormalizedResponse:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return normalize({"id": "x", "model": "m", "choices": [choice], **body}, "chat_completions")


def piece(finish: Any = None, /, **delta: Any) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def calls(*entries: dict[str, Any]) -> dict[str, Any]:
    return piece(tool_calls=list(entries))


def entry(arguments: Any = None, *, name: str | None = None, **more: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**more, "function": function}


def streamed(*chunks: Any) -> NormalizedResponse:
    return aggregate(list(chunks), "chat_completions")


def told(response: NormalizedResponse) -> list[tuple[Any, Any, Any]]:
    return [(call.tag, call.name, call.input) for call in response.tool_calls]


# --- fields of a message ------------------------------------------------------------------------


def test_a_plain_answer() -> None:
    found = whole({"content": "hello"}, usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})
    assert (found.id, found.model, found.text, found.finish_reason) == ("x", "m", "hello", "stop")
    assert found.message.content == (c.TextMessageContent("hello"),)
    assert (found.usage.input_total, found.usage.output_total, found.usage.total) == (1, 2, 3)
    assert found.complete
    assert found.error is None


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": [{"type": "text", "text": "a"}, "b"]}, "ab", ""),
        ({"content": None}, "", ""),
        ({"content": {"k": 1}}, '{"k": 1}', ""),
        ({"content": "a", "reasoning_content": "t"}, "a", "t"),
        ({"content": "a", "reasoning": "t"}, "a", "t"),
        ({"content": "a", "reasoning": "t", "reasoning_content": "t"}, "a", "t"),
        ({"content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "t"}]}, "a", "t"),
        ({"content": "a", "reasoning": "t", "reasoning_details": [{"text": "t"}]}, "a", "t"),
        ({"content": [{"type": "thinking", "thinking": [{"text": "t"}]}, {"type": "text", "text": "a"}]}, "a", "t"),
        ({"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]}]}, "", "t"),
        ({"content": "<think>t</think>a"}, "<think>t</think>a", ""),  # not known to be reasoning
    ],
)  # fmt: skip
def test_text_and_reasoning_under_every_name(message: dict[str, Any], text: str, reasoning: str) -> None:
    for found in (whole(message), streamed(piece(**message), piece("stop"), DONE)):
        assert found.text == text
        assert "".join(each["text"] for each in found.reasoning) == reasoning


def test_reasoning_in_the_text_is_taken_out_where_that_is_known() -> None:
    request = convert("q", "chat_completions", model="m", base_url="http://h/v1", facts={"inline_think": True})
    body = {"choices": [{"message": {"content": "<think>\nt\n</think>\n\na"}, "finish_reason": "stop"}]}
    found = normalize(body, "chat_completions", names=request)
    assert (found.text, found.reasoning[0]["text"]) == ("a", "t")


def test_details_of_reasoning_are_kept_to_go_back() -> None:
    first = {"type": "reasoning.text", "text": "a", "index": 0}
    rest = [
        {"type": "reasoning.text", "text": "b", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
    ]
    found = streamed(
        piece(reasoning_details=[first]), piece(reasoning_details=rest), piece(content="c"), piece("stop"), DONE
    )
    thinking = found.message.content[0]
    assert isinstance(thinking, c.ThinkingMessageContent)
    assert thinking.text == "ab"
    assert thinking.native == {"reasoning_details": [{**first, "text": "ab"}, rest[1]]}
    assert thinking.origin == c.Origin("chat_completions", "m")


def test_a_long_stream_is_not_folded_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    fold = ThinkingDeltaMessageContent.compacted

    def counted(deltas: Any) -> list[Any]:
        tried.append(len(deltas))
        return fold(deltas)

    monkeypatch.setattr(ThinkingDeltaMessageContent, "compacted", counted)
    detail = {"type": "reasoning.text", "text": "a", "index": 0}  # a piece with details cannot be folded
    found = streamed(*[piece(reasoning_details=[detail])] * 5000, piece("stop"), DONE)
    assert found.reasoning[0]["text"] == "a" * 5000
    assert len(tried) < 10


def test_fragments_of_details_are_joined_by_kind_and_index() -> None:
    given = [{"type": "t", "index": 0, "text": "a"}, {"type": "t", "index": 0, "text": "b", "signature": "s"}]
    assert joined_details(given) == [{"type": "t", "index": 0, "text": "ab", "signature": "s"}]
    assert joined_details([{"type": "t", "text": "a"}, {"type": "t", "text": "b"}]) == [
        {"type": "t", "text": "a"},
        {"type": "t", "text": "b"},
    ]
    assert given[0]["text"] == "a"


def test_a_refusal_overrides_stop() -> None:
    for found in (whole({"refusal": "no"}), streamed(piece(refusal="n"), piece(refusal="o"), piece("stop"), DONE)):
        assert found.refusal == {"category": None, "text": "no"}
        assert (found.finish_reason, found.raw_finish_reason) == ("refusal", "stop")
    assert whole({"refusal": "no"}, "length").finish_reason == "length"


def test_sound_has_its_id_and_transcript() -> None:
    data = base64.b64encode(b"sound").decode()
    found = whole({"audio": {"id": "a", "data": data, "transcript": "hi", "expires_at": 5}})
    assert found.message.content == (c.AudioMessageContent(data, id="a", transcript="hi", expires_at=5),)
    half = base64.b64encode(b"so").decode()
    rest = base64.b64encode(b"und").decode()
    pieces = [{"id": "a", "transcript": "h"}, {"data": half}, {"data": rest, "transcript": "i"}, {"expires_at": 5}]
    chunks = [piece(audio=audio) for audio in pieces]
    assert streamed(*chunks, piece("stop"), DONE).message.content == found.message.content


def test_citations_pictures_and_unknown_parts() -> None:
    citation = {"type": "url_citation", "url_citation": {"url": "u", "title": "T", "start_index": 0, "end_index": 1}}
    found = whole({"content": "a", "annotations": [citation]})
    assert found.citations == ({"type": "url_citation", "url": "u", "title": "T", "start_index": 0, "end_index": 1},)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert whole({"images": [image]}).message.content == (c.ImageMessageContent("AAAA", media_type="image/png"),)
    odd = {"type": "hologram", "x": 1}
    block = whole({"content": [odd]}).message.content[0]
    assert isinstance(block, c.GenericMessageContent)
    assert block.value == odd
    searched = whole({"content": "a"}, search_results=[{"url": "u"}, {"url": "u"}])
    assert searched.citations == ({"url": "u"},)


# --- finish reasons -----------------------------------------------------------------------------


@pytest.mark.parametrize(("raw", "reason"), [*FINISH.items(), ("STOP", "stop"), ("eaten_by_dog", "other")])
def test_a_finish_reason_has_a_neutral_name(raw: str, reason: str) -> None:
    for found in (whole({"content": "a"}, raw), streamed(piece(content="a"), piece(raw))):
        assert (found.finish_reason, found.raw_finish_reason) == (reason, raw)
        assert found.complete


@pytest.mark.parametrize("raw", [None, ""])
def test_no_reason_in_a_complete_answer_is_stop(raw: Any) -> None:
    for found in (whole({"content": "a"}, raw), streamed(piece(raw, content="a"), DONE)):
        assert (found.finish_reason, found.raw_finish_reason) == ("stop", None)
        assert found.notes


def test_the_last_reason_stands() -> None:
    assert streamed(piece("stop", content="a"), piece("length", content="b")).raw_finish_reason == "length"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [("stop", "tool_calls"), (None, "tool_calls"), ("odd", "tool_calls"), ("length", "length")],
)
def test_valid_calls_override_stop(raw: Any, reason: str) -> None:
    call = {"id": "c1", **entry("{}", name="f")}
    assert whole({"tool_calls": [call]}, raw).finish_reason == reason


def test_a_stream_without_its_end_is_incomplete() -> None:
    found = streamed(piece(content="a"), calls(entry('{"a": 1', name="f", index=0, id="c1")))
    assert (found.finish_reason, found.complete, found.text) == ("incomplete", False, "a")
    assert found.tool_calls == []
    assert found.invalid_tool_calls[0].raw == '{"a": 1'


def test_arguments_cut_by_the_limit_are_invalid() -> None:
    found = streamed(calls(entry('{"a": ', name="f", index=0, id="c1")), piece("length"), DONE)
    assert (found.finish_reason, found.complete) == ("length", True)
    assert [call.raw for call in found.invalid_tool_calls] == ['{"a": ']


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "type_", "message"),
    [
        ({"error": {"message": "slow down", "type": "rate_limit_error", "code": 429}}, "rate_limit_error", "slow down"),
        ({"error": "broken"}, "server_error", "broken"),
        ({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "invalid_request_error", "bad"),
        ({"code": "InvalidParameter", "message": "no"}, "invalid_request_error", "no"),
    ],
)
def test_an_error_in_a_good_answer(body: dict[str, Any], type_: str, message: str) -> None:
    for found in (normalize(body, "chat_completions"), streamed(piece(content="a"), body, piece(content="b"), DONE)):
        assert found.error is not None
        assert found.error.message == message
        assert found.error.type in (type_, "server_error")
        assert (found.finish_reason, found.complete) == ("error", False)
    assert streamed(piece(content="a"), body, piece(content="b")).text == "a"


def test_an_error_in_a_choice() -> None:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "error": {"message": "m", "code": 502}}
    found = streamed(piece(content="a"), {"choices": [choice]})
    assert found.error is not None
    assert (found.error.message, found.error.status, found.finish_reason) == ("m", 502, "error")


@pytest.mark.parametrize(
    "body", [{}, {"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": [3]}, [], None]
)
def test_an_answer_without_choices_is_malformed(body: Any) -> None:
    found = normalize(body, "chat_completions")
    assert found.finish_reason == "error"
    assert found.error is not None
    assert found.error.type == "malformed_response"


def test_a_filtered_answer_may_have_no_message() -> None:
    found = normalize({"choices": [{"finish_reason": "content_filter"}]}, "chat_completions")
    assert (found.finish_reason, found.error) == ("content_filter", None)


@pytest.mark.parametrize(
    "chunk", [{}, [], 3, "x", None, {"choices": [None]}, {"choices": [{"delta": None}]}, {"choices": 3}]
)
def test_no_chunk_raises(chunk: Any) -> None:
    found = streamed(piece(content="a"), chunk, piece(content="b"), piece("stop"), DONE)
    assert (found.text, found.finish_reason, found.complete) == ("ab", "stop", True)


# --- chunks -------------------------------------------------------------------------------------


def test_usage_and_metadata_come_without_a_choice() -> None:
    preamble = {"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    last = {"id": "x", "choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}}
    chunks = [preamble, piece(role="assistant", content=""), piece(content="a"), piece("stop"), last, DONE]
    found = streamed(*chunks)
    assert (found.id, found.model, found.usage.total) == ("x", "m", 5)
    assert found.details["prompt_filter_results"] == [{"prompt_index": 0}]
    first = next(normalize_stream(chunks, "chat_completions"))
    assert (first.kind, first.id, first.model) == ("start", "x", "m")


def test_every_field_of_a_chunk_counts() -> None:
    chunk = piece("tool_calls", content="a", reasoning_content="t", tool_calls=[entry("{}", name="f", index=0, id="c")])
    found = streamed({**chunk, "usage": {"prompt_tokens": 1, "completion_tokens": 1}}, DONE)
    assert (found.text, found.reasoning[0]["text"], told(found)) == ("a", "t", [("c", "f", {})])
    assert (found.usage.total, found.finish_reason) == (2, "tool_calls")


def test_only_the_first_choice_and_only_its_delta_are_read() -> None:
    other = {"index": 1, "delta": {"content": "other"}, "finish_reason": None}
    chunk = piece(content="a")
    chunk["choices"] = [other, {**chunk["choices"][0], "message": {"content": "so far"}}]
    found = streamed(chunk, {"choices": [other]}, piece("stop"), DONE)
    assert found.text == "a"
    assert any("choice" in note for note in found.notes)


def test_probabilities_are_put_together() -> None:
    chunks = [piece(content="a"), piece(content="b"), piece("stop")]
    for chunk, token in zip(chunks, "ab", strict=False):
        chunk["choices"][0]["logprobs"] = {"content": [{"token": token}], "refusal": None}
    assert streamed(*chunks).details["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}]}


# --- slots of calls -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param(
            [entry("", name="f", index=0, id="a"), entry('{"x"', index=0), entry(": 1}", index=0)],
            [("a", "f", {"x": 1})], id="fragments",
        ),
        pytest.param(
            [entry('{"x":', name="f", index=0, id="a"), entry("{", name="g", index=1, id="b"), entry("1}", index=0),
             entry("}", index=1)],
            [("a", "f", {"x": 1}), ("b", "g", {})], id="interleaved",
        ),
        pytest.param(
            [entry("{}", name="f", index=0, id="a"), entry('{"x": 1}', name="g", index=0, id="b")],
            [("a", "f", {}), ("b", "g", {"x": 1})], id="index 0 for all",
        ),
        pytest.param(
            [entry("{", name="f", index=0, id="a"), entry("}", name="f", index=0, id="a")],
            [("a", "f", {})], id="id and name in every fragment",
        ),
        pytest.param(
            [entry("{", name="f", index=0, id="a"), entry("}", name="", index=0, id="")],
            [("a", "f", {})], id="blank id and name later",
        ),
        pytest.param(
            [entry("{}", name="f", id="a"), entry("{}", name="f", id="b")],
            [("a", "f", {}), ("b", "f", {})], id="no index, ids",
        ),
        pytest.param(
            [entry("{", name="f", id="a"), entry("}")],
            [("a", "f", {})], id="no index, a fragment",
        ),
        pytest.param(
            [entry('{"x":1}', name="f", index=0, id="a"), entry('{"x":2}', index=0)],
            [("a", "f", {"x": 1}), (None, "", {"x": 2})], id="another object after a whole one",
        ),
        pytest.param(
            [entry('{"s": "}', name="f", index=0, id="a"), entry('{"}', index=0)],
            [("a", "f", {"s": "}{"})], id="a brace inside a text",
        ),
        pytest.param([entry("", name="f", index=0, id="a")], [("a", "f", {})], id="no arguments"),
        pytest.param([entry(None, name="f", index=0, id="a")], [("a", "f", {})], id="null arguments"),
        pytest.param([entry({"x": 1}, name="f", index=0, id="a")], [("a", "f", {"x": 1})], id="an object"),
        pytest.param([entry("{}", name="f", index=0, id=7)], [("7", "f", {})], id="a number as id"),
        pytest.param([{"index": 0, "id": "a", "function": None}], [], id="no function"),
    ],
)  # fmt: skip
def test_pieces_find_their_call(entries: list[dict[str, Any]], expected: list[tuple[Any, Any, Any]]) -> None:
    found = streamed(*[calls(each) for each in entries], piece("tool_calls"), DONE)
    assert [
        (tag if want[0] else None, name, given) for (tag, name, given), want in zip(told(found), expected, strict=True)
    ] == expected
    assert [call.tag for call in found.tool_calls if not call.tag] == []


def test_names_alone_open_calls_without_index_and_id() -> None:
    found = streamed(
        calls(entry('{"a":1}', name="f")), calls(entry('{"b":2}', name="f")), calls(entry("", name="g")), piece("stop")
    )
    assert [(call.name, call.input) for call in found.tool_calls] == [("f", {"a": 1}), ("f", {"b": 2}), ("g", {})]
    assert len({call.tag for call in found.tool_calls}) == 3


@pytest.mark.parametrize("raw", ["null", "[1]", "3", '"{\\"a\\": 1}"', "None", '{"a": 1'])
def test_arguments_that_are_no_object_are_invalid_as_they_came(raw: str) -> None:
    found = whole({"tool_calls": [{"id": "c1", **entry(raw, name="f")}]}, "tool_calls")
    assert found.tool_calls == []
    assert [(call.tag, call.name, call.raw) for call in found.invalid_tool_calls] == [("c1", "f", raw)]


def test_a_custom_call_is_one_with_its_input() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": 'echo "hi"'}}
    parts = ["", 'echo "', 'hi"']
    chunks = [calls({**custom, "index": 0, "custom": {"name": "shell", "input": part}}) for part in parts]
    for found in (whole({"tool_calls": [custom]}, "tool_calls"), streamed(*chunks, piece("tool_calls"), DONE)):
        call = found.tool_calls[0]
        assert (call.name, call.input, call.native) == ("shell", {"input": 'echo "hi"'}, {"custom": True})


def test_the_older_form_of_a_call_has_no_id() -> None:
    found = whole({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call")
    assert (found.tool_calls[0].name, found.finish_reason) == ("f", "tool_calls")
    assert found.tool_calls[0].tag
    empty = whole({"content": "a", "function_call": {"name": "", "arguments": ""}})
    assert empty.tool_calls == []


def test_a_signature_of_gemini_stays_with_its_call() -> None:
    google = {"extra_content": {"google": {"thought_signature": "S"}}}
    found = whole({"tool_calls": [{"id": "c1", **entry("{}", name="f"), **google}]}, "tool_calls")
    assert found.tool_calls[0].thought_signature == "S"


def test_a_returned_name_is_looked_up() -> None:
    tool = {"type": "function", "function": {"name": "a.b", "parameters": {"type": "object", "properties": {}}}}
    request = convert("q", "chat_completions", model="gpt-4.1", tools=[tool])
    body = {"choices": [{"message": {"tool_calls": [{"id": "c", **entry("{}", name="a_b")}]}, "finish_reason": "stop"}]}
    assert normalize(body, "chat_completions", names=request).tool_calls[0].name == "a.b"


# --- usage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "counts"),
    [
        ({}, (None,) * 7),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, (10, 10, None, None, 5, None, 15)),
        ({"prompt_tokens": 10, "completion_tokens": 5}, (10, 10, None, None, 5, None, 15)),
        ({"input_tokens": 10, "output_tokens": 5}, (10, 10, None, None, 5, None, 15)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}},
         (10, 3, 4, 3, None, None, None)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6},
         (10, 6, 4, None, None, None, None)),
        ({"prompt_tokens": 10, "cached_tokens": 4}, (10, 6, 4, None, None, None, None)),
        ({"prompt_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1},
         (10, 5, 4, 1, None, None, None)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 20}}, (10, None, 20, None, None, None, None)),
        ({"completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}},
         (None, None, None, None, 5, 3, None)),
        ({"completion_tokens": 5, "reasoning_tokens": 3}, (None, None, None, None, 5, 3, None)),
        # Reasoning outside of completion_tokens: only the total tells (xAI, Google).
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 35,
          "completion_tokens_details": {"reasoning_tokens": 20}}, (10, 10, None, None, 25, 20, 35)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 20}, (10, 10, None, None, 10, None, 20)),
        ({"prompt_tokens": None, "completion_tokens": "5"}, (None,) * 7),
    ],
)  # fmt: skip
def test_usage_under_every_name(raw: dict[str, Any], counts: tuple[Any, ...]) -> None:
    assert tuple(usage(raw).to_dict().values()) == counts


def test_the_last_value_of_each_count_wins() -> None:
    first = {**piece(content="a"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    groq = {**piece("stop"), "x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}}}
    assert streamed(first, {**piece(content="b"), "usage": None}, groq, DONE).usage.total == 12
    moonshot = piece("stop")
    moonshot["choices"][0]["usage"] = {"prompt_tokens": 2, "completion_tokens": 2}
    assert streamed(piece(content="a"), moonshot, DONE).usage.total == 4
