"""The payload as a whole: its keys, instructions, what stands for nothing, the trace, and that nothing is lost."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral as ln
from llmneutral import Message, Origin, TextMessageContent

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


def turn(role: str, content: Any) -> Message:
    """A message; text stands for one block."""
    return Message(role, content)


def convert(source: Any, **settings: Any) -> Any:
    settings.setdefault("model", "gpt-5.4")
    return ln.convert(source, "codex_responses", **settings)


def test_the_smallest_request() -> None:
    made = convert("hi", model="gpt-4.1")
    assert made.payload == {"model": "gpt-4.1", "input": [{"role": "user", "content": "hi"}], "store": False}
    assert made.endpoint == ("POST", "/responses")
    assert (made.changes, made.headers, made.open_calls) == ((), {}, ())


def test_keys_stand_in_one_order() -> None:
    made = convert(
        [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
        tools=TOOLS,
        tool_choice="required",
        stream=True,
        reasoning_effort="low",
        max_tokens=99,
        verbosity="low",
    )
    assert [*made.payload] == [
        "model",
        "instructions",
        "input",
        "tools",
        "tool_choice",
        "max_output_tokens",
        "reasoning",
        "text",
        "stream",
        "include",
        "store",
    ]


def test_instructions_are_the_leading_texts() -> None:
    blocks = (TextMessageContent("a"), TextMessageContent("b"))
    made = convert([turn("system", blocks), turn("developer", "c"), turn("user", "q")], trace=True)
    assert made.payload["instructions"] == "a\n\nb\n\nc"
    assert made.trace["/instructions"] == ((0, 0), (0, 1), (1, 0))


def test_blank_instructions_vanish() -> None:
    made = convert([turn("system", " "), turn("user", "q"), turn("system", ""), turn("user", "r")])
    assert "instructions" not in made.payload
    assert [item["role"] for item in made.payload["input"]] == ["user", "user"]
    assert [(change.kind, change.refs) for change in made.changes] == [("dropped", ((0, 0),)), ("dropped", ((2, 0),))]


def test_instructions_with_more_than_text_stay_in_the_input() -> None:
    picture = ln.ImageMessageContent(url="https://x.example/a.png")
    made = convert([turn("system", (TextMessageContent("a"), picture)), turn("user", "q")])
    assert "instructions" not in made.payload
    assert made.payload["input"][0]["role"] == "developer"


@pytest.mark.parametrize("blocks", [(), (TextMessageContent(""),), (TextMessageContent(" "), TextMessageContent(""))])
def test_an_empty_turn_of_the_user_says_so(blocks: Any) -> None:
    made = convert([turn("user", blocks)])
    assert made.payload["input"] == [{"role": "user", "content": "(empty message)"}]
    assert [change.kind for change in made.changes] == ["dropped"] * len(blocks) + ["added"]


def test_blank_text_beside_other_parts_stays() -> None:
    made = convert([turn("user", (TextMessageContent(""), TextMessageContent("q")))])
    assert [part["text"] for part in made.payload["input"][0]["content"]] == ["", "q"]


def test_a_stack_of_instructions_only_gets_a_turn() -> None:
    made = convert([turn("system", "s")])
    assert (made.payload["instructions"], made.payload["input"]) == (
        "s",
        [{"role": "user", "content": "(empty message)"}],
    )
    assert [change.kind for change in made.changes] == ["added"]


@pytest.mark.parametrize("key", ["previous_response_id", "conversation", "prompt"])
def test_nothing_is_added_to_what_the_server_keeps(key: str) -> None:
    made = convert([turn("system", "s")], extra_body={key: "kept"})
    assert made.payload["input"] == []
    assert made.to_json()[key] == "kept"


def test_an_empty_answer_stays_as_it_is() -> None:
    made = convert([turn("user", "q"), turn("assistant", ""), turn("assistant", ()), turn("user", "r")])
    assert [item["content"] for item in made.payload["input"]] == ["q", "", "r"]
    assert made.changes == ()


def test_the_role_of_late_instructions_is_a_fact() -> None:
    made = convert([turn("user", "q"), turn("developer", "s")], facts={"developer_role": False})
    assert made.payload["input"][1]["role"] == "system"


def test_extra_body_is_merged_last_and_keeps_the_trace() -> None:
    made = convert([turn("system", "s"), turn("user", "q")], extra_body={"store": True, "background": True}, trace=True)
    assert made.to_json()["store"] is True
    assert made.to_json()["background"] is True
    assert made.trace["/instructions"] == ((0, 0),)


def test_the_four_methods_of_a_transport() -> None:
    transport = ln.get_transport("codex_responses")
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    assert transport.convert_messages(messages) == {"instructions": "s", "input": [{"role": "user", "content": "q"}]}
    assert transport.convert_tools(TOOLS)[0]["name"] == "f"
    assert transport.build_kwargs("gpt-4.1", messages, TOOLS, max_tokens=99)["max_output_tokens"] == 99
    body = {"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]}
    assert transport.normalize_response(body).text == "a"


# --- laws ---------------------------------------------------------------------------------------

OWN = Origin("codex_responses", "gpt-5.4", "api.openai.com")
OTHER = Origin("anthropic_messages", "claude-opus-5")
TEXTS = st.text(max_size=8)
ORIGINS = st.sampled_from([None, OWN, OTHER])
TAGS = st.sampled_from(["c1", "c2", "fc_1", "a|b", ""])
SAID = st.builds(
    TextMessageContent,
    TEXTS,
    origin=ORIGINS,
    native=st.sampled_from([None, {"id": "m1", "status": "completed"}, {"phase": "commentary"}]),
    cache=st.sampled_from([None, True, "1h"]),
)
THOUGHT = st.builds(
    ln.ThinkingMessageContent,
    TEXTS,
    encrypted_content=st.sampled_from([None, "E"]),
    id=st.sampled_from([None, "rs_1", "rs_2"]),
    origin=ORIGINS,
)
CALL = st.builds(ln.ActionCallMessageContent, TAGS, st.sampled_from(["f", "a.b"]), origin=ORIGINS)
GENERIC = st.builds(ln.GenericMessageContent, st.just({"type": "web_search_call", "id": "w"}), origin=ORIGINS)
PICTURE = st.builds(ln.ImageMessageContent, url=st.just("https://x.example/a.png"), cache=st.sampled_from([None, True]))
RESULT = st.builds(ln.ActionResultMessageContent, TAGS, TEXTS)
REFUSAL = st.builds(ln.RefusalMessageContent, TEXTS, origin=ORIGINS)
STACKS = st.lists(
    st.one_of(
        st.builds(Message, st.just("user"), st.lists(st.one_of(SAID, PICTURE, RESULT), max_size=3).map(tuple)),
        st.builds(
            Message,
            st.just("assistant"),
            st.lists(st.one_of(SAID, THOUGHT, CALL, GENERIC, PICTURE, REFUSAL), max_size=4).map(tuple),
        ),
        st.builds(Message, st.just("system"), st.lists(SAID, max_size=2).map(tuple)),
    ),
    min_size=1,
    max_size=6,
)


@given(STACKS, st.sampled_from(["gpt-5.4", "gpt-5.6-sol"]))
def test_nothing_is_lost_and_nothing_is_changed(stack: list[Message], model: str) -> None:
    before = copy.deepcopy(stack)
    traced, plain = convert(stack, model=model, trace=True), convert(stack, model=model)
    assert stack == before
    assert traced.payload == plain.payload
    assert traced.changes == plain.changes
    json.dumps(plain.to_json(), allow_nan=False).encode()
    shown = {ref for refs in traced.trace.values() for ref in refs}
    gone = {ref for change in traced.changes if change.kind in ("dropped", "merged", "refused") for ref in change.refs}
    blocks = {(i, j) for i, message in enumerate(stack) for j in range(len(message.content))}
    assert blocks <= shown | gone


@given(STACKS)
def test_every_call_is_answered_before_the_talk_goes_on(stack: list[Message]) -> None:
    calls: list[str] = []
    for item in convert([*stack, turn("user", "closed")]).payload["input"]:
        if item.get("type") == "function_call":
            calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            calls.remove(item["call_id"])
        elif "role" in item and item["role"] != "assistant":
            assert not calls


@given(STACKS, st.lists(TEXTS, min_size=1, max_size=2))
def test_a_longer_talk_begins_as_the_shorter_one(stack: list[Message], more: list[str]) -> None:
    """Prefixes stay what they were, so that caches hold; only a turn whose calls were open may change."""
    stack = [turn("user", "begun"), *stack, turn("user", "closed")]
    short = convert(stack).payload["input"]
    long = convert([*stack, *[turn("user", f"more {text}") for text in more]]).payload["input"]
    assert long[: len(short)] == short
