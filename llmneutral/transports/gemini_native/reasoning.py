"""How a request to generateContent asks for thinking: one function per form (fact `thinking`).

https://ai.google.dev/gemini-api/docs/thinking; types of google-genai 3: ThinkingConfig.
"""

from __future__ import annotations

from llmneutral.convert.job import Job
from llmneutral.convert.params import nearest_effort
from llmneutral.ir.jsontext import JSONObject

DOC = "https://ai.google.dev/gemini-api/docs/thinking"
AUTOMATIC = -1
BUDGETS = {"minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
"""Tokens that an effort stands for on models that know budgets only: https://ai.google.dev/gemini-api/docs/openai"""

SETTINGS = ("reasoning_effort", "thinking_budget", "thinking_display")


def thinking_config(job: Job) -> JSONObject | None:
    """Returns the thinking config of a request, or None where nothing is asked; what cannot be is a Change."""
    effort, budget, display = [job.settings.get(name) for name in SETTINGS]
    if effort is None and budget is None and display is None:
        return None
    form = job.facts.thinking
    if form not in ("level", "budget"):
        for name, value in zip(SETTINGS, (effort, budget, display), strict=True):
            if value not in (None, "none"):
                _dropped(name, f"{job.target.model or 'this model'} does not think", job)
        return None
    found = _level(effort, budget, job) if form == "level" else _budget(effort, budget, job)
    if found == {"thinking_budget": 0} or (not found and display is None):
        return found or None
    return {**found, "include_thoughts": display != "omitted"}


def _level(effort: str | None, budget: int | None, job: Job) -> JSONObject:
    """`thinking_level`: Gemini 3 and newer, which refuse a budget from 3.5 on."""
    if budget is not None:
        _dropped("thinking_budget", "this model decides itself how much to think; reasoning_effort steers it", job)
    levels = job.facts.effort_levels
    if effort is None:
        return {}
    if effort == "none" and not levels:
        job.note("coerced", "reasoning_effort: this model cannot stop thinking", doc=DOC)
        return {}
    return {"thinking_level": nearest_effort(effort, levels, job).upper()}


def _budget(effort: str | None, budget: int | None, job: Job) -> JSONObject:
    """`thinking_budget`: Gemini 2.5; -1 leaves it to the model, 0 is off where that is possible."""
    if budget is None and effort is None:
        return {}
    name = "reasoning_effort" if budget is None else "thinking_budget"
    if budget is None:
        assert effort is not None
        budget = 0 if effort == "none" else BUDGETS[effort]
        if effort in ("xhigh", "max"):
            why = f"reasoning_effort: {effort!r} is no level of this model; the nearest is 'high'"
            job.note("coerced", why, doc=DOC)
    elif effort is not None:
        _dropped("reasoning_effort", "thinking_budget says how much to think", job)
    return {"thinking_budget": _fitted(budget, name, job)}


def _fitted(budget: int, name: str, job: Job) -> int:
    """A budget the model takes."""
    if budget == AUTOMATIC or (budget == 0 and job.facts.thinking_off == "disabled"):
        return budget
    low, high = job.facts.budget_range or (0, None)
    fitted = max(budget, low, 0)
    fitted = fitted if high is None else min(fitted, high)
    if fitted != budget:
        off = "this model cannot stop thinking" if budget == 0 else f"a budget of {budget} is out of range"
        job.note("coerced", f"{name}: {off}; {fitted} is sent", doc=DOC)
    return fitted


def _dropped(name: str, why: str, job: Job) -> None:
    job.note("dropped", f"{name}: {why}", doc=DOC)
