"""One exchange: the answer, how it came about, what it cost, and what went wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest

from llmneutral_widgets.views.answer import (
    comparison_page,
    exchange_page,
    foot,
    footer,
    frame_body,
    maker,
    summary_line,
)
from llmneutral_widgets.views.page import LIMIT
from tests.widgets.samples import RECORD


def record(**changes: Any) -> dict[str, Any]:
    made = {**RECORD, "error": None, "payload": None, "rounds": [], "changes": [], "cost": {}, **changes}
    made["timing"] = changes.get("timing", {"first_delta_s": 0.42, "total_s": 3.1, "attempts": 1})
    return made


def answered(text: str, **fields: Any) -> dict[str, Any]:
    return {"text": text, "finish_reason": "stop", "usage": {}, "blocks": [{"type": "text", "text": text}], **fields}


def test_the_footer() -> None:
    assert " · ".join(footer(record())) == (
        "anthropic · claude-sonnet-5-5 · 4 earlier messages sent · 812 → 96 tokens (640 cached, 31 reasoning)"
        " · first 0.42 s, 3.1 s, 35 tok/s · cost n/a"
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"history": {"messages": 0}}, "no earlier messages"),
        ({"history": {"messages": 1}}, "1 earlier message sent"),
        ({"response": None}, "tokens n/a"),
        ({"response": {"usage": {"input_total": 5, "output_total": None}}}, "5 → n/a tokens"),
        ({"timing": {"total_s": 2.0, "attempts": 3}}, "2.0 s, 48 tok/s, 3 attempts"),
        ({"cost": {"amount": 0.0031, "currency": "EUR", "source": "prices.toml"}}, "cost 0.0031 EUR (prices.toml)"),
        ({"answered_by": "claude-answered"}, "anthropic · claude-answered"),
        ({"provider": None}, "anthropic_messages · claude-sonnet-5-5"),
    ],
)
def test_what_the_footer_says(changes: dict[str, Any], said: str) -> None:
    assert said in " · ".join(footer(record(**changes)))


def test_what_is_unknown_is_never_zero() -> None:
    said = " · ".join(footer({"status": "interrupted", "model": "m", "response": {"usage": {}}}))
    assert said == "m · tokens n/a · cost n/a"
    assert "0" not in said


@pytest.mark.parametrize("known", [{"model": "m"}, {"timing": {"total_s": 2.0}}, {"cost": {"amount": 0}}, {}])
def test_of_what_nothing_is_known_of_nothing_is_said(known: dict[str, Any]) -> None:
    """A stack from a JSON file, as a notebook: who answered, when and for how much is known to nobody."""
    bare = {"status": "complete", "response": answered("Yes."), "history": {"messages": 2}, **known}
    assert bool(footer(bare)) is bool(known)
    assert ("n/a" in exchange_page(bare)) is bool(known)
    assert ('class="foot"' in exchange_page(bare)) is bool(known)
    assert summary_line(bare).splitlines()[-1] == "Yes."
    assert len(summary_line(bare).splitlines()) == (2 if known else 1)


def test_a_dry_run_spends_nothing() -> None:
    assert footer(record(status="dry_run")) == ["anthropic · claude-sonnet-5-5", "first 0.42 s, 3.1 s, 35 tok/s"]


@pytest.mark.parametrize(
    ("status", "finish", "words"),
    [
        ("interrupted", "incomplete", ["interrupted"]),
        ("incomplete", None, ["incomplete: the stream ended without its terminator"]),
        ("failed", "error", ["failed", "ended with an error"]),
        ("refused", "refusal", ["refused"]),
        ("complete", "length", ["cut off: the limit of tokens was reached"]),
        ("complete", "content_filter", ["stopped by the provider&#x27;s content filter"]),
        ("complete", "pause", ["paused: run it again to go on"]),
        ("complete", "stop", []),
        ("complete", "tool_calls", []),
    ],
)
def test_badges(status: str, finish: str | None, words: list[str]) -> None:
    output = exchange_page(record(status=status, response=answered("x", finish_reason=finish)))
    found = re.findall(r'<b class="tag \w+">(.*?)</b>', output)
    assert found == [word.replace("&#x27;", "'") for word in words]


def test_parts_stand_in_order() -> None:
    output = exchange_page(RECORD)
    places = [
        output.index(word) for word in ("Rome", "Let me <em>think</em>", "<h4>Title</h4>", "RateLimitError", "812 →")
    ]
    assert places == sorted(places)
    assert "<summary>thinking, 15 characters</summary>" in output
    assert "thinking (redacted)" in output
    assert "the arguments are no JSON object; this call is never run" in output
    assert "merged" in output


def test_an_error_is_three_lines() -> None:
    output = exchange_page(record(status="failed", response=None, error=RECORD["error"]))
    assert "<b>RateLimitError (429)</b>: too fast" in output
    assert "provider anthropic · model claude-sonnet-5-5 · api anthropic_messages · rule rate" in output
    assert "request id req_1" in output
    assert "→ wait" in output


def test_changes_are_counted_and_linked() -> None:
    output = exchange_page(RECORD)
    assert "<summary>1 change: 1 merged</summary>" in output
    bare = re.sub(r'<span title="Joins [^"]*" class="told">(\w+)</span>', r"\1", output)
    assert "<mark>merged</mark> 1.0, 2.0 by merge_same_role: roles must alternate <a href=" in bare
    assert "<summary>what these steps do</summary>" in output


def test_text_is_set_in_its_own_direction() -> None:
    assert '<div class="prose" dir="auto"><p>שלום</p></div>' in exchange_page(record(response=answered("שלום")))


@pytest.mark.parametrize("text", ["x " * 400_000, "<&" * 200_000, "**a** " * 100_000, "$" * 300_000])
def test_a_long_answer_is_cut_and_says_so(text: str) -> None:
    output = exchange_page(record(response=answered(text)))
    assert LIMIT // 5 < len(output.encode()) <= LIMIT
    assert re.search(r"[\d,]+ more characters are not shown here", output)
    assert "anthropic · claude-sonnet-5-5" in output


def test_answers_side_by_side() -> None:
    output = comparison_page([record(), record(provider="openai", model="gpt", response=answered("No."))])
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', output) == ["anthropic · claude-sonnet-5-5", "openai · gpt"]
    assert output.count("<style>") == 1


def test_the_summary() -> None:
    assert summary_line(record(response=answered("A" * 300))).split("\n")[1] == "A" * 200 + "…"
    assert summary_line(record(status="interrupted")).split("\n")[0].endswith("cost n/a · interrupted")
    failed = record(status="failed", response=None, error={"message": "too\nfast"})
    assert summary_line(failed).split("\n")[1] == "too fast"
    failed["error"] = {"message": "no", "status": 429, "request_id": "req_1\x1b\n2"}
    assert summary_line(failed).split("\n")[0].endswith("· failed · status 429 · request id req_1\ufffd 2")
    called = answered("", blocks=[{"type": "tool_call", "name": "weather", "path": "now"}])
    assert summary_line(record(response=called)).split("\n")[1] == "calls weather.now"
    assert "Title" not in summary_line(record(), with_text=False)


def test_a_frame() -> None:
    shown = frame_body("local", thinking=(12, "I *see*"), answer=("", 0), calls=[])
    assert '<details class="thinking" open><summary>thinking, 12 characters</summary>' in shown
    shown = frame_body("local", thinking=(12, ""), answer=("So **it", 1234), calls=[("weather", '{"c')])
    assert "1,234 earlier characters are hidden while streaming" in shown
    assert "So **it" in shown
    assert "local · answering …" in shown
    assert '<pre>{"c</pre>' in shown


def test_who_answered() -> None:
    assert maker({}) == "?"
    assert maker({"api": "chat_completions"}) == "chat_completions"


@pytest.mark.parametrize(
    ("provider", "said"),
    [("local", "already computed"), ("local-messages", "already computed"), ("openai", "had kept")],
)
def test_the_footer_tells_what_cached_means(provider: str, said: str) -> None:
    shown = exchange_page(record(provider=provider))
    assert re.search(rf'<span title="cached: [^"]*{said}[^"]*" class="told">812 → 96 tokens [^<]*cached', shown)


def test_a_footer_without_a_cache_has_nothing_to_tell() -> None:
    assert 'class="told"' not in exchange_page({"status": "complete", "response": {"usage": {"input_total": 1}}})


def test_the_footer_tells_where_a_price_is_from() -> None:
    html = foot(record(cost={"amount": 0.0031, "currency": "USD", "source": "genai-prices 9"}))
    assert '<span title="prices: genai-prices 9" class="told">cost 0.0031 USD</span>' in html
    assert "prices: " not in foot(record())
    free = {"amount": 0.0, "currency": "USD", "source": "runs on this computer"}
    assert '<span title="cost 0: it runs on this computer" class="told">cost 0</span>' in foot(record(cost=free))
    assert summary_line(record(cost=free)).split("\n")[0].endswith("cost 0 (runs on this computer)")


def test_the_footer_counts_calls_and_says_where_a_count_is_a_part() -> None:
    calls = [
        {"status": "retried", "usage": {}},
        {"status": "rejected", "usage": {"input_total": 400, "output_total": None}},
        {"status": "complete", "usage": {"input_total": 412, "output_total": 96}},
    ]
    said = " · ".join(footer(record(calls=calls)))
    assert "812 → ≥ 96 tokens" in said
    assert "2 requests, 1 rejected" in said
    assert "tok/s" not in said, "tools and waits are no time of the model's"


def test_what_was_said_between_question_and_answer_is_folded_unless_it_is_calls() -> None:
    rounds = [
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, {"type": "tool_call", "name": "f"}]},
        {"role": "user", "content": [{"type": "tool_result", "output": "it is so"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "half of it"}]},
        {"role": "user", "content": [{"type": "text", "text": "does not fit"}]},
    ]
    html = exchange_page(record(rounds=rounds))
    places = [html.index(each) for each in ("Let me see.", "it is so", "half of it", "does not fit", "It is ")]
    assert places == sorted(places)
    assert html.count("an answer that did not fit") == 1
    assert html.count("what was said to it") == 1
