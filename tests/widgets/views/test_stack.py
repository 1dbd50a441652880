"""A conversation as a list: heads, folds, links between calls and results, and caps."""

from __future__ import annotations

import re
from typing import Any

import pytest

from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views.page import LIMIT
from llmneutral_widgets.views.stack import EMPTY, FIRST, LAST, stack_head, stack_page, stack_part
from tests.widgets.samples import stack

MESSAGES = builtin(stack().messages)


def texts(count: int, text: str = "Hello.") -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": f"{n} {text}"}]} for n in range(count)]


def heads(output: str) -> list[str]:
    return [re.sub(r"<[^<>]*>", "", head) for head in re.findall(r'<div class="role">(.*?)</div>', output)]


def test_heads() -> None:
    output = stack_page(MESSAGES, tokens={5: 12}, marks={5: "stale"}, name="default", tools=[{"name": "weather"}])
    assert heads(output) == [
        "0 system · 1 block",
        "1 user · 2 blocks",
        "2 user · 1 block",
        "3 assistant · anthropic_messages/claude-sonnet-5-5 · 3 blocks",
        "4 user · 1 block",
        "5 assistant · 1 block · 12 tokens stale",
        "6 user · 1 block",
    ]
    assert "default · 7 messages · 1 tool" in output
    assert "tools: weather" in output


def test_blocks_are_folded_with_kind_label_and_first_words() -> None:
    output = stack_page(MESSAGES)
    assert output.count("<details>") == 10 + 1, "ten blocks, and the one text that may read otherwise than typed"
    shown = '<span class="kind">text</span> <span class="preview">What is this, and the weather in Paris?</span>'
    assert f">1.0</small>{shown}" in output
    assert "<strong>one</strong>" in output
    assert "<summary>as typed</summary><pre>Answer in **one** line.</pre>" in output


def test_calls_lead_to_their_results_and_back() -> None:
    output = stack_page(MESSAGES)
    assert re.search(r"weather \{.*?\}<small> → 4\.0</small>", output)
    assert re.search(r"sky.*?<small> → 3\.2</small>", output)


def test_the_same_id_twice_pairs_in_order() -> None:
    call = {"type": "tool_call", "tag": "c", "name": "f", "input": {}}
    result = {"type": "tool_result", "tag": "c", "output": "x"}
    messages = [{"role": "assistant", "content": [call, call]}, {"role": "user", "content": [result, result, result]}]
    assert re.findall(r"→ ([\d.]+)", stack_page(messages)) == ["1.0", "1.1", "0.0", "0.1"]


def test_a_signature_is_present_and_not_shown() -> None:
    output = stack_page(MESSAGES)
    assert "signature present" in output
    assert "EqQB" not in output
    assert "made by anthropic_messages/claude-sonnet-5-5" in output
    assert "cache breakpoint" in output


def test_a_refused_block_is_struck() -> None:
    output = stack_page(MESSAGES, bad=[(1, 1)])
    assert re.search(r"<del>image/png, [^<]+</del>", output)
    assert output.count("<del>") == 1


def test_what_is_no_block_is_shown_as_it_is() -> None:
    output = stack_page(
        [{"role": "user", "content": ["odd <b>", 3, {"text": "no type"}]}, {"role": "user", "content": "x"}]
    )
    assert "odd &lt;b&gt;" in output
    assert '<span class="kind">generic</span> 3' in output
    assert heads(output) == ["0 user · 3 blocks", "1 user · 1 block"]


def test_empty() -> None:
    assert EMPTY in stack_page([])
    assert "0 blocks" in stack_page([{"role": "user"}])


@pytest.mark.parametrize(("count", "shown"), [(33, 33), (34, 33), (1_000, 33)])
def test_long_conversations_show_their_ends(count: int, shown: int) -> None:
    output = stack_page(texts(count))
    assert len(heads(output)) == shown
    hidden = re.findall(r"([\d,]+) more: %stack --all", output)
    assert hidden == ([f"{count - FIRST - LAST:,}"] if count > FIRST + LAST else [])


def test_ranges() -> None:
    output = stack_page(texts(100), shown=slice(10, 12))
    assert heads(output) == ["10 user · 1 block", "11 user · 1 block"]
    assert re.findall(r"(\d+) more", output) == ["10", "88"]
    assert len(heads(stack_page(texts(100), shown=slice(None)))) == 100


@pytest.mark.parametrize("text", ["x" * 100_000, "<" * 100_000, "\n- **a**" * 10_000, "é" * 100_000])
def test_huge_texts_stay_within_the_limit(text: str) -> None:
    output = stack_page(texts(40, text))
    assert len(output.encode()) <= LIMIT
    assert "more characters are not shown here" in output
    assert len(heads(output)) == FIRST + LAST


def test_a_piece_of_a_live_view_is_the_same_list_without_its_sheet() -> None:
    shown = stack_part(MESSAGES, [1, 5], marks={5: "stale"}, makers={5: "local"}, tokens={5: 12})
    assert "<style>" not in shown
    assert heads(shown) == ["1 user · 2 blocks", "5 assistant · local · 1 block · 12 tokens stale"]
    assert heads(stack_part(MESSAGES, range(7))) == heads(stack_page(MESSAGES))


def test_the_head_of_a_live_view() -> None:
    assert "default · 7 messages · 1 tool" in stack_head(7, [{"name": "f"}], "default")
