"""Request bodies of Cohere, read, and converted back."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import ConversionError, PromptStack, convert, read_request
from llmneutral.ir import contents as c

MODEL = "command-a-03-2025"
OWN = c.Origin("cohere_chat", MODEL)
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CITE = {"start": 0, "end": 1, "text": "a", "sources": [{"type": "tool", "id": "c1:0"}], "type": "TEXT_CONTENT"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def stack(*messages: dict[str, Any], **body: Any) -> PromptStack:
    return read_request({"model": MODEL, "messages": list(messages), **body}, "cohere_chat")


def settings(**body: Any) -> dict[str, Any]:
    return stack({"role": "user", "content": "q"}, **body).settings


def result(content: Any) -> Any:
    (message,) = stack({"role": "tool", "tool_call_id": "c1", "content": content}).messages
    return message.content[0]


def again(body: dict[str, Any]) -> dict[str, Any]:
    """A request that was read and converted to the same API."""
    return convert(read_request(body, "cohere_chat"), "cohere_chat", model=body["model"]).to_json()


# --- messages -----------------------------------------------------------------------------------


def test_content() -> None:
    (message,) = stack(
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "new"}],
        }
    ).messages
    assert message.content == (
        c.ThinkingMessageContent("hm", origin=OWN),
        c.TextMessageContent("a"),
        c.GenericMessageContent({"type": "new"}, origin=OWN),
    )


def test_a_plan_is_text_that_knows_it_is_one() -> None:
    (message,) = stack({"role": "assistant", "tool_calls": [CALL], "tool_plan": "I look."}).messages
    plan, call = message.content
    assert plan == c.TextMessageContent("I look.", native={"plan": True}, origin=OWN)
    assert isinstance(call, c.ActionCallMessageContent)


@pytest.mark.parametrize(
    ("cite", "cited"),
    [
        (CITE, "two"),
        ({**CITE, "content_index": 1}, "one"),
        ({**CITE, "content_index": 0}, "two"),  # a thought: the index is wrong
        ({**CITE, "type": "PLAN"}, "plan"),
        ({**CITE, "type": "THINKING_CONTENT"}, None),
    ],
)
def test_a_citation_stands_on_the_text_it_is_of(cite: dict[str, Any], cited: str | None) -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    (message,) = stack(
        {"role": "assistant", "content": content, "tool_plan": "plan", "citations": [cite]},
    ).messages
    found = [block.text for block in message.content if isinstance(block, c.TextMessageContent) and block.citations]
    assert found == ([] if cited is None else [cited])


def test_a_citation_may_be_of_a_string_or_of_nothing_but_a_plan() -> None:
    (message,) = stack({"role": "assistant", "content": "a", "citations": [CITE]}).messages
    assert message.content == (c.TextMessageContent("a", citations=(CITE,)),)
    (planned,) = stack({"role": "assistant", "tool_plan": "p", "tool_calls": [CALL], "citations": [CITE]}).messages
    assert planned.content[0].citations == (CITE,)  # type: ignore[union-attr]  # the plan


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("ok", "ok"),
        ([{"type": "document", "document": {"data": {"t": 4}}}], {"t": 4}),
        ([{"type": "document", "document": {"data": {"text": "ok"}}}], "ok"),
    ],
)
def test_results_that_are_plain_data(content: Any, output: Any) -> None:
    found = result(content)
    assert (found.output, found.parts) == (output, None)


@pytest.mark.parametrize(
    ("document", "text", "title"),
    [
        ({"id": "d", "data": {"text": "t"}}, "t", None),
        ({"id": "d", "data": {"title": "T", "snippet": "s"}}, "s", "T"),
        ({"id": "d", "data": {"x": 1}}, '{"x": 1}', None),
        ({"data": {"text": '{"x": 1}'}}, '{"x": 1}', None),
        ({"data": {"text": 5}}, '{"text": 5}', None),
        ({"data": '{"x": 1}'}, '{"x": 1}', None),
        ({"data": {}}, "{}", None),
    ],
)
def test_results_that_are_documents(document: dict[str, Any], text: str, title: str | None) -> None:
    content = [{"type": "document", "document": document}, {"type": "text", "text": "b"}]
    first, second = result(content).parts
    assert (first.text, first.title, first.name) == (text, title, document.get("id"))
    assert first.native == {"document": document}
    assert second == c.TextMessageContent("b")


# --- settings -----------------------------------------------------------------------------------


def test_settings_and_what_has_no_neutral_name() -> None:
    assert settings(
        p=0.5, k=5, stop_sequences=["X"], max_tokens=9, seed=1, stream=True, safety_mode="OFF", priority=2,
        documents=["d"], citation_options={"mode": "OFF"}, raw_prompting=True, temperature=None, max_new=3,
    ) == {
        "top_p": 0.5, "top_k": 5, "stop": ["X"], "max_tokens": 9, "seed": 1, "stream": True, "safety_mode": "OFF",
        "documents": ["d"], "citation_options": {"mode": "OFF"},
        "extra_body": {"priority": 2, "raw_prompting": True, "max_new": 3},
    }  # fmt: skip
    assert settings(request_options={"additional_body_parameters": {"x": 1}}) == {"extra_body": {"x": 1}}
    assert settings(max_tokens="many") == {"extra_body": {"max_tokens": "many"}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"tool_choice": "REQUIRED"}, {"tool_choice": "required"}),
        ({"tool_choice": "none"}, {"tool_choice": "none"}),
        ({"tool_choice": {"x": 1}}, {"extra_body": {"tool_choice": {"x": 1}}}),
        ({"thinking": {"type": "disabled"}}, {"reasoning_effort": "none"}),
        ({"thinking": {"type": "enabled", "token_budget": 9}}, {"thinking_budget": 9}),
        ({"thinking": {"type": "enabled"}}, {"extra_body": {"thinking": {"type": "enabled"}}}),
        ({"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}),
        (
            {"response_format": {"type": "json_object", "json_schema": SCHEMA}},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "output", "schema": SCHEMA}}},
        ),
        ({"response_format": "json"}, {"extra_body": {"response_format": "json"}}),
    ],
)
def test_settings_with_a_form_of_their_own(body: dict[str, Any], expected: dict[str, Any]) -> None:
    assert settings(**body) == expected


def test_strictness_is_each_tools() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
    found = stack({"role": "user", "content": "q"}, tools=[tool], strict_tools=True)
    assert [each.strict for each in found.tools] == [True]
    assert [each.strict for each in stack({"role": "user", "content": "q"}, tools=[tool]).tools] == [None]


def test_a_request_comes_out_as_it_went_in() -> None:
    body = {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}],
                "tool_plan": "I look.",
                "tool_calls": [CALL, {**CALL, "id": "c2"}],
            },
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": [{"type": "document", "document": {"data": {"t": [1, None]}}}],
            },
            {
                "role": "tool",
                "tool_call_id": "c2",
                "content": [
                    {"type": "document", "document": {"id": "d", "data": {"title": "T", "snippet": "s"}}},
                    {"type": "document", "document": {"data": {"text": "b"}}},
                ],
            },
            {"role": "assistant", "content": "a", "citations": [CITE]},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
        "strict_tools": True,
        "tool_choice": "NONE",
        "documents": [{"id": "x", "data": {"text": "t"}}, "words"],
        "max_tokens": 9,
        "p": 0.5,
        "citation_options": {"mode": "FAST"},
        "priority": 1,
        "raw_prompting": False,
    }
    assert again(body) == body


def test_what_is_no_request() -> None:
    with pytest.raises(ConversionError, match="no request of cohere_chat"):
        read_request({"model": MODEL}, "cohere_chat")
    with pytest.raises(ConversionError, match="no request of cohere_chat"):
        stack({"role": "assistant", "content": [{"type": "thinking"}]})
