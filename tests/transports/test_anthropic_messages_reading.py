"""A request body → PromptStack, and back to the same body."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import ConversionError, Message, Origin, PromptStack

API = "anthropic_messages"
OWN = Origin(API)


def turn(role: str, content: Any, name: str | None = None) -> Message:
    """A message; text stands for one block."""
    return Message(role, content, name)


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": list(messages), **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def read(given: dict[str, Any]) -> PromptStack:
    kept = copy.deepcopy(given)
    stack = ln.read_request(given, API)
    assert given == kept
    return stack


def again(given: dict[str, Any]) -> Any:
    """The same request, read and written."""
    return ln.convert(read(given), API, model=given.get("model")).to_json()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


CITATION = {
    "type": "page_location",
    "cited_text": "F",
    "document_index": 0,
    "document_title": None,
    "start_page_number": 1,
    "end_page_number": 2,
}
BLOCKS: list[Any] = [
    text("a", cache_control={"type": "ephemeral"}),
    text("a", cache_control={"type": "ephemeral", "ttl": "1h"}),
    {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
    {"type": "image", "source": {"type": "file", "file_id": "f"}, "transformations": {"oversized_image": "error"}},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "w"}, "title": "t"},
    {"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}, "citations": {"enabled": True}},
    {"type": "document", "source": {"type": "file", "file_id": "f"}, "context": "c"},
    {"type": "document", "source": {"type": "content", "content": [text("p")]}},
    {"type": "search_result", "source": "s", "title": "t", "content": [text("x")], "citations": {"enabled": True}},
    {"type": "container_upload", "file_id": "f"},
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block["type"]))
def test_blocks_of_the_user_come_back(block: Any) -> None:
    given = body(user(text("q"), block))
    assert again(given) == given


@pytest.mark.parametrize(
    "block",
    [
        text("F", citations=[CITATION]),
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "mcp_tool_use", "id": "m", "name": "ask", "server_name": "wiki", "input": {}},
        {"type": "compaction", "content": "so far"},
    ],
    ids=lambda block: str(block["type"]),
)
def test_blocks_of_the_assistant_come_back(block: Any) -> None:
    given = body(user(text("q")), {"role": "assistant", "content": [block, text("t")]}, user(text("r")))
    assert again(given) == given


def test_calls_and_results_come_back() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}, "caller": {"type": "direct"}}
    parts = [text("a"), {"type": "tool_reference", "tool_name": "look"}]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": parts, "is_error": True}
    given = body(user(text("q")), {"role": "assistant", "content": [call]}, user(result))
    assert again(given) == given


def test_strings_are_blocks_of_text() -> None:
    stack = read(body({"role": "user", "content": "q"}, system="s"))
    assert stack.messages == [turn("system", "s"), turn("user", "q")]


def test_instructions_and_their_marks() -> None:
    given = body(user(text("q")), system=[text("A", cache_control={"type": "ephemeral"}), text("B")])
    assert again(given) == given


def test_instructions_in_place() -> None:
    given = body(user(text("q")), {"role": "system", "content": [text("s")]}, model="claude-opus-4-8")
    assert again(given) == given


def test_reasoning_is_known_to_be_this_apis() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    stack = read(body(user(text("q")), {"role": "assistant", "content": [block, text("t")]}))
    assert stack.messages[1].content[0].origin == OWN
    assert ln.convert(stack, "codex_responses", model="gpt-6").changes[0].kind == "dropped"


def test_arguments_that_are_no_object_are_invalid() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": "{broken"}
    stack = read(body(user(text("q")), {"role": "assistant", "content": [call]}))
    assert stack.messages[1].content[0].to_text() == "look({broken)"


# --- tools ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"a": {}}}},
        {
            "name": "f",
            "input_schema": {"type": "object", "properties": {"a": {}}},
            "cache_control": {"type": "ephemeral"},
        },
        {"name": "f", "description": "", "input_schema": {"type": "object", "properties": {"a": {}}}},
        {"name": "f", "input_schema": {"type": "object", "properties": {}}, "defer_loading": True},
        {"type": "web_search_20260209", "name": "web_search", "max_uses": 2},
        {"type": "mcp_toolset", "mcp_server_name": "wiki"},
    ],
)
def test_tools_come_back(tool: Any) -> None:
    given = body(user(text("q")), tools=[tool])
    assert again(given) == given


def test_a_tool_is_neutral_where_it_can_be() -> None:
    schema = {"type": "object", "properties": {}}
    stack = read(body(user(text("q")), tools=[{"type": "custom", "name": "f", "input_schema": schema, "strict": True}]))
    (tool,) = stack.tools
    assert (tool.name, tool.parameters, tool.strict, tool.native) == ("f", schema, True, None)


# --- settings -------------------------------------------------------------------------------------

TOOLS = [{"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"a": {}}}}]


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({"temperature": 0.5, "stop_sequences": ["x"]}, {"temperature": 0.5, "stop": ["x"]}),
        ({"top_k": 3, "stream": True}, {"top_k": 3, "stream": True}),
        ({"metadata": {"user_id": "u"}}, {"metadata": {"user_id": "u"}}),
        ({"cache_control": {"type": "ephemeral", "ttl": "1h"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}),
        ({"tool_choice": {"type": "any"}, "tools": TOOLS}, {"tool_choice": "required"}),
        (
            {"tool_choice": {"type": "tool", "name": "f"}, "tools": TOOLS},
            {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        ),
        (
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}, "tools": TOOLS},
            {"tool_choice": "auto", "parallel_tool_calls": False},
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, {"thinking_budget": 2000}),
        (
            {"thinking": {"type": "adaptive", "display": "omitted"}, "model": "claude-opus-4-8"},
            {"thinking_display": "omitted"},
        ),
        (
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "low"},
                "model": "claude-opus-4-8",
            },
            {"reasoning_effort": "low", "thinking_display": "summarized"},
        ),
        ({"thinking": {"type": "disabled"}, "model": "claude-opus-4-8"}, {"reasoning_effort": "none"}),
        ({"thinking": {"type": "between_tools"}, "model": "claude-sonnet-5-5"}, {"reasoning_effort": "none"}),
        (
            {"output_config": {"effort": "low"}, "model": "claude-opus-4-8"},
            {"extra_body": {"output_config": {"effort": "low"}}},
        ),
        (
            {"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}, "model": "claude-opus-4-8"},
            {"reasoning_effort": "none", "extra_body": {"output_config": {"effort": "low"}}},
        ),
        ({"thinking": {"type": "enabled"}}, {"extra_body": {"thinking": {"type": "enabled"}}}),
        (
            {"container": "c", "mcp_servers": [{"name": "w"}]},
            {"extra_body": {"container": "c", "mcp_servers": [{"name": "w"}]}},
        ),
        ({"top_k": -1}, {"extra_body": {"top_k": -1}}),
    ],
)
def test_settings_come_back(given: Any, settings: Any) -> None:
    request = body(user(text("q")), **given)
    assert read(request).settings == {"max_tokens": 4096, **settings}
    assert again(request) == request


def test_filling_the_cache_only_has_no_neutral_name() -> None:
    request = {**body(user(text("q"))), "max_tokens": 0}
    assert read(request).settings == {"extra_body": {"max_tokens": 0}}
    assert again(request) == request


@pytest.mark.parametrize("key", ["output_config", "output_format"])
def test_a_format_is_an_output_schema(key: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    form = {"type": "json_schema", "schema": schema}
    request = body(user(text("q")), **{key: {"format": form} if key == "output_config" else form})
    assert read(request).output_schema == schema
    assert again(request) == request


def test_the_sdks_spelling_of_further_keys() -> None:
    request = body(user(text("q")), extra_body={"container": "c"})
    assert read(request).settings["extra_body"] == {"container": "c"}


def test_a_stack_that_was_read_goes_to_json_and_back() -> None:
    stack = read(body(user(text("q")), tools=TOOLS, tool_choice={"type": "tool", "name": "f"}))
    assert ln.convert(PromptStack.from_json(stack.to_json()), API, model="claude-sonnet-4-5").to_json() == again(
        body(user(text("q")), tools=TOOLS, tool_choice={"type": "tool", "name": "f"})
    )


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "tool", "content": "x"}, r"messages\[1\] has the role 'tool'"),
        ({"role": "user", "content": [{"text": "x"}]}, r"messages\[1\], block 0, is no block"),
        ({"role": "user", "content": [text("a"), {"type": "image"}]}, r"messages\[1\], block 1, is a malformed image"),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "s3"}}]}, "its source is a s3"),
    ],
)
def test_what_is_malformed_is_named(message: Any, said: str) -> None:
    with pytest.raises(ConversionError, match=said):
        ln.read_request(body(user(text("q")), message), API)


def test_a_request_has_messages() -> None:
    with pytest.raises(ConversionError, match="messages"):
        ln.read_request({"model": "m"}, API)
