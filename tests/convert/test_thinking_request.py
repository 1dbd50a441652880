"""How Claude and its imitators are asked for thinking, wherever the value stands in a request."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral.convert.job import Job, Target
from llmneutral.convert.thinking_request import Thinking, plan_thinking
from llmneutral.profiles import profile
from llmneutral.transports import get_transport

API = "bedrock_converse"


def planned(asked: dict[str, Any], limit: int | None = None, display: str | None = None, **facts: Any) -> Thinking:
    target = Target(API, profile(API, model=None, facts=facts), settings=asked)
    job = Job(get_transport(API), [], (), target, trace=False)
    return plan_thinking([], limit, job, usual_display=display)


@pytest.mark.parametrize(
    ("budget", "limit", "sent"),
    [(2000, None, 2000), (5, None, 1024), (5000, 4000, 3000), (5000, 1025, 1024), (5000, 1000, None)],
)
def test_a_budget_fits_below_the_limit_if_there_is_one(budget: int, limit: int | None, sent: int | None) -> None:
    found = planned({"thinking_budget": budget}, limit, thinking="budget")
    assert found.config == (sent and {"type": "enabled", "budget_tokens": sent})
    assert found.is_on is (sent is not None)


def test_the_usual_display_is_the_transport_s() -> None:
    levels = ("low", "high")
    asked = {"reasoning_effort": "low"}
    plain = planned(asked, thinking="adaptive", effort_levels=levels)
    assert plain == Thinking({"type": "adaptive"}, "low", is_on=True)
    shown = planned(asked, display="summarized", thinking="adaptive", effort_levels=levels)
    assert shown.config == {"type": "adaptive", "display": "summarized"}
    said = planned({**asked, "thinking_display": "omitted"}, display="summarized", thinking="adaptive")
    assert said.config == {"type": "adaptive", "display": "omitted"}


def test_a_model_that_thinks_as_it_likes() -> None:
    assert planned({"reasoning_effort": "none"}, thinks_by_default=True) == Thinking(is_on=True)
    assert planned({"reasoning_effort": "none"}) == Thinking(is_on=False)
