"""A request body → stack, and back again."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import ConversionError, Message, Origin, TextMessageContent

OWN = Origin("codex_responses")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="


def turn(role: str, content: Any) -> Message:
    """A message; text stands for one block."""
    return Message(role, content)


def read(**payload: Any) -> Any:
    return ln.read_request({"model": "gpt-5.4", **payload}, "codex_responses")


def blocks(*items: Any) -> list[Any]:
    return [block for message in read(input=list(items)).messages for block in message.content]


def roles(*items: Any) -> list[tuple[str, int]]:
    return [(message.role, len(message.content)) for message in read(input=list(items)).messages]


# --- messages -----------------------------------------------------------------------------------


def test_text_is_one_turn_of_the_user() -> None:
    assert read(input="hi").messages == [turn("user", "hi")]
    assert read(instructions="be brief").messages == [turn("system", "be brief")]
    assert read().messages == []


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_turns_keep_their_roles(role: str) -> None:
    part = {"type": "input_text", "text": "a"}
    for content in ("a", [part], part, ["a"]):
        assert read(input=[{"role": role, "content": content}]).messages == [turn(role, "a")]
        assert read(input=[{"type": "message", "role": role, "content": content}]).messages == [turn(role, "a")]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"type": "input_text", "text": "a"}, TextMessageContent("a")),
        (
            {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
            TextMessageContent("a", cache=True),
        ),
        (
            {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}},
            TextMessageContent("a", cache="12h"),
        ),
        (
            {"type": "input_image", "detail": "low", "image_url": "https://x.example/a.png"},
            ln.ImageMessageContent(url="https://x.example/a.png", detail="low"),
        ),
        (
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
            ln.ImageMessageContent(data=PNG, media_type="image/png"),
        ),
        ({"type": "input_image", "file_id": "file-1"}, ln.ImageMessageContent(file_id="file-1")),
        ({"type": "input_file", "file_id": "file-1"}, ln.DocumentMessageContent(file_id="file-1")),
        (
            {"type": "input_file", "file_url": "https://x.example/a.pdf"},
            ln.DocumentMessageContent(url="https://x.example/a.pdf"),
        ),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
            ln.DocumentMessageContent(data="JVBERg==", media_type="application/pdf", name="a.pdf"),
        ),
        ({"type": "input_file", "file_data": "JVBERg=="}, ln.DocumentMessageContent(data="JVBERg==")),
        (
            {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
            ln.AudioMessageContent("SUQz", "audio/mpeg"),
        ),
        ({"type": "input_new"}, ln.GenericMessageContent({"type": "input_new"}, origin=OWN, native={"part": True})),
    ],
)
def test_parts(part: Any, block: Any) -> None:
    assert blocks({"role": "user", "content": [part]}) == [block]


def test_items_of_the_assistant_are_one_turn() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "r"}
    found = roles(
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs", "summary": []},
        {"role": "assistant", "content": "wait"},
        call,
        call,
        result,
        result,
        {"role": "assistant", "content": "so"},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    )
    assert found == [("user", 1), ("assistant", 4), ("user", 2), ("assistant", 1), ("user", 1), ("user", 1)]


def test_an_answer_keeps_the_item_it_came_in() -> None:
    item = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "phase": "final_answer",
        "content": [{"type": "output_text", "text": "a", "annotations": []}, {"type": "refusal", "refusal": "no"}],
    }
    text, refusal = blocks(item)
    native = {"id": "m", "status": "completed", "phase": "final_answer"}
    assert text == TextMessageContent("a", origin=OWN, native=native)
    assert refusal == ln.RefusalMessageContent("no", origin=OWN, native=native)


def test_an_answer_of_nothing_is_an_empty_text() -> None:
    nothing: list[Any] = [None, "", []]
    for content in nothing:
        assert blocks({"role": "assistant", "content": content}) == [TextMessageContent("")]


def test_reasoning() -> None:
    summary = [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]
    content: list[Any] = [{"type": "reasoning_text", "text": "t"}]
    assert blocks(
        {"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "E"},
        {"type": "reasoning", "summary": [], "content": content},
    ) == [
        ln.ThinkingMessageContent("a\n\nb", encrypted_content="E", id="rs", summary=("a", "b"), origin=OWN),
        ln.ThinkingMessageContent("t", summary=(), origin=OWN, native={"content": content}),
    ]


def test_calls() -> None:
    assert blocks(
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
        {"type": "function_call", "id": "fc_1", "call_id": "d", "name": "f", "arguments": "[1]", "namespace": "n"},
        {"type": "custom_tool_call", "call_id": "e", "name": "g", "input": "text"},
    ) == [
        ln.ActionCallMessageContent("c", "f", input={"a": 1}, arguments='{"a":1}'),
        ln.ActionCallMessageContent(
            "d", "f", input=None, arguments="[1]", item_id="fc_1", origin=OWN, native={"namespace": "n"}
        ),
        ln.ActionCallMessageContent("e", "g", input={"input": "text"}, origin=OWN, native={"custom": True}),
    ]


def test_results() -> None:
    assert blocks(
        {"type": "function_call_output", "call_id": "c", "output": "r", "status": "completed"},
        {"type": "custom_tool_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "r"}]},
        {"type": "function_call_output", "call_id": "e", "output": "", "caller": {"type": "direct"}},
    ) == [
        ln.ActionResultMessageContent("c", "r"),
        ln.ActionResultMessageContent("d", parts=(TextMessageContent("r"),)),
        ln.ActionResultMessageContent("e", "", origin=OWN, native={"caller": {"type": "direct"}}),
    ]


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("web_search_call", "assistant"),
        ("compaction", "assistant"),
        ("mcp_approval_response", "user"),
        ("additional_tools", "developer"),
    ],
)
def test_other_items_are_kept_as_they_are(kind: str, role: str) -> None:
    item = {"type": kind, "id": "i", "anything": [1]}
    (message,) = read(input=[item]).messages
    assert message == turn(role, (ln.GenericMessageContent(item, origin=OWN),))


def test_an_id_alone_is_a_reference() -> None:
    assert blocks({"id": "msg_1"}) == [ln.GenericMessageContent({"id": "msg_1"}, origin=OWN)]


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        ({"input": 5}, "input"),
        ({"input": ["x"]}, r"input\[0\]"),
        ({"input": [{"role": "user", "content": "a"}, {"role": "boss", "content": "b"}]}, r"input\[1\].*boss"),
        ({"input": [{"content": "a"}]}, r"input\[0\]"),
        ({"input": [{"role": "user", "content": [{"text": "a"}]}]}, r"input\[0\].content\[0\]"),
        ({"instructions": ["a"]}, "instructions"),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, r"input\[0\].*name"),
    ],
)
def test_what_is_malformed_is_named(payload: Any, where: str) -> None:
    with pytest.raises(ConversionError, match=where):
        read(**payload)


# --- settings and tools -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "settings"),
    [
        ({"max_output_tokens": 9, "temperature": 1, "top_p": 0.5}, {"max_tokens": 9, "temperature": 1, "top_p": 0.5}),
        ({"reasoning": {"effort": "low"}}, {"reasoning_effort": "low", "reasoning_summary": "none"}),
        ({"reasoning": {"effort": None, "summary": "auto"}}, {"reasoning_summary": "auto"}),
        ({"reasoning": {"context": "all_turns"}}, {"extra_body": {"reasoning": {"context": "all_turns"}}}),
        (
            {"text": {"verbosity": "low", "format": {"type": "text"}}},
            {"verbosity": "low", "response_format": {"type": "text"}},
        ),
        (
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}}},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}}},
        ),
        ({"text": {"new": 1}}, {"extra_body": {"text": {"new": 1}}}),
        ({"include": ["reasoning.encrypted_content"]}, {}),
        ({"include": ["message.output_text.logprobs"], "top_logprobs": 2}, {"logprobs": True, "top_logprobs": 2}),
        ({"include": ["file_search_call.results"]}, {"extra_body": {"include": ["file_search_call.results"]}}),
        ({"tool_choice": "none"}, {"tool_choice": "none"}),
        ({"tool_choice": {"type": "function", "name": "f"}}, {"tool_choice": {"type": "function", "name": "f"}}),
        ({"tool_choice": {"type": "web_search"}}, {"extra_body": {"tool_choice": {"type": "web_search"}}}),
        (
            {"previous_response_id": "r", "background": True},
            {"extra_body": {"previous_response_id": "r", "background": True}},
        ),
        ({"previous_response_id": None, "user": None}, {}),
    ],
)
def test_settings(payload: Any, settings: Any) -> None:
    assert read(**payload).settings == settings


def test_tools_are_definitions() -> None:
    flat = {"type": "function", "name": "f", "description": "", "parameters": {}, "strict": True, "defer_loading": True}
    function, search = read(tools=[flat, {"type": "web_search"}]).tools
    assert (function.name, function.strict, function.native) == ("f", True, None)
    assert function.extra == {"defer_loading": True, "description": ""}
    assert search.native == {"type": "web_search"}


# --- there and back -----------------------------------------------------------------------------

REQUEST = {
    "model": "gpt-5.6-sol",
    "instructions": "Be brief.",
    "input": [
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
                {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
                {"type": "input_file", "file_id": "file-1"},
                {"type": "input_new", "x": 1},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "s"}],
            "encrypted_content": "E",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "a", "annotations": []}],
            "phase": "commentary",
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}', "namespace": "n"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "print(1)"},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "1"}, {"type": "input_file", "file_id": "file-2"}],
        },
        {"role": "developer", "content": "now"},
        {"role": "user", "content": "go on"},
    ],
    "tools": [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False},
        {"type": "custom", "name": "g"},
    ],
    "tool_choice": {"type": "custom", "name": "g"},
    "parallel_tool_calls": False,
    "max_output_tokens": 99,
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {"verbosity": "low", "format": {"type": "json_object"}},
    "include": ["reasoning.encrypted_content"],
    "store": False,
    "stream": True,
    "service_tier": "flex",
    "metadata": {"a": "b"},
    "prompt_cache_key": "k",
    "background": True,
}


def test_a_request_that_is_read_and_converted_is_the_same_again() -> None:
    given = copy.deepcopy(REQUEST)
    stack = ln.read_request(given, "codex_responses")
    made = ln.convert(stack, "codex_responses", model="gpt-5.6-sol", trace=True)
    assert given == REQUEST
    assert made.to_json() == REQUEST
    assert made.changes == ()
    shown = {ref for refs in made.trace.values() for ref in refs} if made.trace else set()
    assert shown == {(i, j) for i, message in enumerate(stack.messages) for j in range(len(message.content))}
    assert ln.PromptStack.from_json(stack.to_json()).messages == stack.messages
