"""A conversation and an answer as text: who speaks, what each block is, and where it is cut."""

from __future__ import annotations

from typing import Any

from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views.listed import MOST, exchange_text, stack_text
from llmneutral_widgets.views.stack import EMPTY, FIRST, LAST
from tests.widgets.samples import PNG, RECORD, stack

MESSAGES = builtin(stack().messages)


def texts(count: int, text: str = "Hello.") -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": f"{n} {text}"}]} for n in range(count)]


def test_message_by_message_block_by_block() -> None:
    printed = stack_text(
        MESSAGES, 80, tokens={5: 12}, marks={5: "stale"}, name="default", tools=[{"name": "weather"}], bad=[[1, 1]]
    )
    lines = printed.split("\n")
    assert lines[0] == "default · 7 messages · 1 tool"
    assert lines[-1] == "tools: weather"
    for line in (
        "1 user · 2 blocks",
        "  1.0 text   What is this, and the weather in Paris?",
        "  1.1 image  image/png, 191 bytes [refused]",
        "3 assistant · anthropic_messages/claude-sonnet-5-5 · 3 blocks",
        "  3.0 thinking   I should call the tool.",
        "                 (cache breakpoint)",
        '  3.2 tool_call  weather {"city": "Paris"} → 4.0',
        '  4.0 tool_result  {"temperature": 18, "sky": "clear"} → 3.2',
        "5 assistant · 1 block · 12 tokens [stale]",
    ):
        assert line in lines
    assert "EqQB" not in printed, "that it is signed is told, the signature is not"
    assert PNG[:20] not in printed


def test_nothing_is_hidden_without_a_word() -> None:
    long = stack_text(texts(1_000), 80).split("\n")
    assert [line for line in long if "%stack --all" in line] == [f"{1_000 - FIRST - LAST:,} more: %stack --all"]
    part = stack_text(texts(10), 80, shown=slice(2, 4))
    assert "2 more: %stack --all" in part
    assert "6 more: %stack --all" in part
    assert "… (1,002 more)" in stack_text(texts(1, "x" * 3_000), 80)
    assert "… 40 more blocks" in stack_text([{"role": "user", "content": [{"type": "text", "text": "a"}] * 100}], 80)
    assert "999 Hello." in stack_text(texts(1_000), 80, shown=slice(None))
    assert EMPTY in stack_text([], 80)


def test_it_is_bounded() -> None:
    long = stack_text(texts(2_000, "word " * 1_000), 80, shown=slice(None))
    shown = long.count(" user · ")
    assert shown == 600, "each has at least a hundred characters"
    assert len(long) < 3 * MOST
    assert long.endswith(f"… too long to go on: %stack {shown}: shows the rest")
    both_ends = stack_text([{"role": "user", "content": texts(1, "word " * 1_000)[0]["content"] * 9}] * 40, 80)
    assert "39.8 text  0 word" in both_ends, "what was said last is there"
    assert stack_text(texts(1, "\n" * 5_000), 80).count("\n") < 100


def test_an_answer_is_whole_with_what_was_asked_of_tools() -> None:
    printed = exchange_text(RECORD, 100)
    assert printed.startswith("anthropic · claude-sonnet-5-5 · 4 earlier messages sent")
    for said in (
        "too fast",
        'weather {"city": "Rome"}',
        "(error) hot",
        "Let me *think*.",
        "# Title",
        "(policy) I would",
    ):
        assert printed.count(said) == 1
    assert "abc" not in printed.replace("cached", ""), "no signature"
    failed = exchange_text({**RECORD, "response": None}, 100)
    assert "too fast" in failed
    long = {**RECORD, "response": {"text": "word " * 300, "blocks": []}}
    assert exchange_text(long, 100).count("word") == 300
