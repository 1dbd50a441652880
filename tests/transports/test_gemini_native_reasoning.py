"""How thinking is asked for: a test per row of the table of forms."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral as ln

LEVELS, BUDGETS, PRO, LITE = "gemini-3-pro-preview", "gemini-2.5-flash", "gemini-2.5-pro", "gemini-2.5-flash-lite"


def asked(model: str, **settings: Any) -> tuple[Any, list[str]]:
    facts = settings.pop("facts", None)
    found = ln.convert("hi", "gemini_native", model=model, facts=facts, **settings)
    assert not isinstance(found, dict)
    return found.payload.get("config", {}).get("thinking_config"), [change.kind for change in found.changes]


@pytest.mark.parametrize(
    ("model", "settings", "config", "told"),
    [
        # nothing is asked
        (LEVELS, {}, None, []),
        (BUDGETS, {}, None, []),
        # levels
        (LEVELS, {"reasoning_effort": "high"}, {"thinking_level": "HIGH", "include_thoughts": True}, []),
        (LEVELS, {"reasoning_effort": "medium"}, {"thinking_level": "HIGH", "include_thoughts": True}, ["coerced"]),
        (LEVELS, {"reasoning_effort": "none"}, {"thinking_level": "LOW", "include_thoughts": True}, ["coerced"]),
        (LEVELS, {"thinking_budget": 512}, None, ["dropped"]),
        (LEVELS, {"thinking_display": "omitted"}, {"include_thoughts": False}, []),
        (
            LEVELS,
            {"reasoning_effort": "low", "thinking_display": "omitted"},
            {"thinking_level": "LOW", "include_thoughts": False},
            [],
        ),
        # budgets
        (BUDGETS, {"reasoning_effort": "minimal"}, {"thinking_budget": 1024, "include_thoughts": True}, []),
        (BUDGETS, {"reasoning_effort": "low"}, {"thinking_budget": 1024, "include_thoughts": True}, []),
        (BUDGETS, {"reasoning_effort": "medium"}, {"thinking_budget": 8192, "include_thoughts": True}, []),
        (BUDGETS, {"reasoning_effort": "high"}, {"thinking_budget": 24576, "include_thoughts": True}, []),
        (BUDGETS, {"reasoning_effort": "max"}, {"thinking_budget": 24576, "include_thoughts": True}, ["coerced"]),
        (BUDGETS, {"thinking_budget": 1000}, {"thinking_budget": 1000, "include_thoughts": True}, []),
        (BUDGETS, {"thinking_budget": -1}, {"thinking_budget": -1, "include_thoughts": True}, []),
        (BUDGETS, {"thinking_budget": 99999}, {"thinking_budget": 24576, "include_thoughts": True}, ["coerced"]),
        (LITE, {"thinking_budget": 100}, {"thinking_budget": 512, "include_thoughts": True}, ["coerced"]),
        (
            BUDGETS,
            {"thinking_budget": 1000, "reasoning_effort": "low"},
            {"thinking_budget": 1000, "include_thoughts": True},
            ["dropped"],
        ),
        # off
        (BUDGETS, {"reasoning_effort": "none"}, {"thinking_budget": 0}, []),
        (LITE, {"reasoning_effort": "none"}, {"thinking_budget": 0}, []),
        (BUDGETS, {"thinking_budget": 0}, {"thinking_budget": 0}, []),
        (PRO, {"reasoning_effort": "none"}, {"thinking_budget": 128, "include_thoughts": True}, ["coerced"]),
        # not at all
        ("gemini-2.0-flash", {"reasoning_effort": "high", "thinking_budget": 5}, None, ["dropped", "dropped"]),
        ("gemma-3-27b-it", {"reasoning_effort": "high"}, None, ["dropped"]),
        ("gemma-3-27b-it", {"reasoning_effort": "none"}, None, []),
    ],
)
def test_thinking(model: str, settings: dict[str, Any], config: Any, told: list[str]) -> None:
    assert asked(model, **settings) == (config, told)


def test_a_model_without_levels_that_cannot_stop() -> None:
    assert asked(LEVELS, reasoning_effort="none", facts={"effort_levels": ()}) == (None, ["coerced"])


def test_in_the_spelling_of_rest() -> None:
    found = ln.convert("hi", "gemini_native", model=LEVELS, reasoning_effort="low")
    assert not isinstance(found, dict)
    sent = found.to_json()["generationConfig"]
    assert sent == {"thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True}}
