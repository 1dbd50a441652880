"""How a request asks Claude, and what imitates it, for thinking: one function per form (fact `thinking`).

On Messages and on Bedrock alike; where the value stands in a request is the transport's.
https://platform.claude.com/docs/en/build-with-claude/thinking; types of anthropic 2: ThinkingConfigParam.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from llmneutral.convert.job import Job, Messages
from llmneutral.convert.params import nearest_effort
from llmneutral.convert.thinking import misses_reasoning
from llmneutral.ir.jsontext import JSONObject

DOC = "https://platform.claude.com/docs/en/build-with-claude/thinking"
LEAST_BUDGET = 1_024
"""Tokens; ThinkingConfigEnabledParam."""

BUDGETS = {"minimal": 4_000, "low": 4_000, "medium": 8_000, "high": 16_000, "xhigh": 32_000, "max": 32_000}
"""Tokens of thinking that an effort stands for, on models that know budgets only."""

SETTINGS = ("reasoning_effort", "thinking_budget", "thinking_display")


class Thinking(msgspec.Struct, frozen=True):
    """What a request says about thinking.

    Attributes:
        config: The value of `thinking`; None leaves the key out.
        effort: The effort beside it (`output_config.effort`, `outputConfig.effort`).
        is_on: Whether the model thinks.
    """

    config: JSONObject | None = None
    effort: str | None = None
    is_on: bool = False


class Asked(msgspec.Struct, frozen=True):
    """What the caller asked for, and what is asked for beside it."""

    effort: str | None
    budget: int | None
    display: str | None
    usual_display: str | None = None

    @property
    def off(self) -> bool:
        """Whether thinking is to be off."""
        return self.effort == "none"


def plan_thinking(
    messages: Messages, max_tokens: int | None, job: Job, *, usual_display: str | None = None
) -> Thinking:
    """Says how thinking is asked for, after the model's facts; what cannot be is a Change.

    Args:
        messages: The messages as they go out.
        max_tokens: Tokens of the answer at most: a budget has to stay below it. None: unknown.
        job: The conversion.
        usual_display: The display of adaptive thinking where the caller says nothing; None leaves it out.
    """
    effort, budget, display = [job.settings.get(name) for name in SETTINGS]
    asked = Asked(effort, budget, display, usual_display)
    form = job.facts.thinking
    if asked.effort is None and asked.budget is None and (asked.display is None or form != "adaptive"):
        if asked.display is not None:
            _dropped("thinking_display", "nothing in this request asks for thinking", job)
        return Thinking(is_on=job.facts.thinks_by_default)
    return _FORMS.get(form, _none)(asked, messages, max_tokens, job)


def _none(asked: Asked, messages: Messages, max_tokens: int | None, job: Job) -> Thinking:
    """Nothing can be said of it: the model does not think, or does so as it likes."""
    del messages, max_tokens
    thinks, model = job.facts.thinks_by_default, job.target.model or "this model"
    why = f"{model} thinks, and how much cannot be said here" if thinks else f"{model} does not think here"
    for name, value in zip(SETTINGS, (asked.effort, asked.budget, asked.display), strict=True):
        if value is not None and (value != "none" or thinks):
            _dropped(name, why, job)
    return Thinking(is_on=thinks)


def _budget(asked: Asked, messages: Messages, max_tokens: int | None, job: Job) -> Thinking:
    """`{type: enabled, budget_tokens}`: Claude up to 4.5 and its imitators."""
    if asked.off:
        return _off(asked, job)
    tokens = asked.budget
    name, effort = "thinking_budget", None
    if tokens is None:
        name = "reasoning_effort"
        tokens = BUDGETS[asked.effort or "low"]
        if asked.effort == "minimal":
            job.note("coerced", "reasoning_effort: 'minimal' is no level of this model; the nearest is 'low'", doc=DOC)
    elif asked.effort is not None and job.facts.effort_levels:
        effort = nearest_effort(asked.effort, job.facts.effort_levels, job)
    elif asked.effort is not None:
        _dropped("reasoning_effort", "thinking_budget says how much to think", job)
    if misses_reasoning(messages):
        why = f"{name}: the turn with calls to be continued has no signed thinking, so thinking is off in this request"
        job.note("coerced", why, doc=DOC)
        return Thinking()
    fitted = _fitted(tokens, name, max_tokens, job)
    if fitted is None:
        return Thinking()
    config: JSONObject = {"type": "enabled", "budget_tokens": fitted}
    if asked.display is not None:
        config["display"] = asked.display
    return Thinking(config, effort, is_on=True)


def _fitted(tokens: int, name: str, max_tokens: int | None, job: Job) -> int | None:
    """A budget between 1,024 and max_tokens, or None where none fits; max_tokens is never raised."""
    fitted = max(tokens, LEAST_BUDGET)
    if (most := job.facts.budget_range) is not None:
        fitted = min(fitted, most[1])
    if max_tokens is not None and fitted >= max_tokens:
        fitted = max(LEAST_BUDGET, max_tokens * 3 // 4)
    if max_tokens is not None and fitted >= max_tokens:
        job.note("coerced", f"{name}: no thinking budget fits below max_tokens {max_tokens}; thinking is off", doc=DOC)
        return None
    if fitted != tokens:
        job.note("coerced", f"{name}: a thinking budget of {tokens} is out of range; {fitted} is sent", doc=DOC)
    return fitted


def _adaptive(asked: Asked, messages: Messages, max_tokens: int | None, job: Job) -> Thinking:
    """`{type: adaptive}` and an effort: Claude from 4.6 on."""
    del messages, max_tokens
    if asked.budget is not None:
        _dropped("thinking_budget", "this model decides itself how much to think; reasoning_effort steers it", job)
    if asked.off:
        return _off(asked, job)
    return Thinking(_adaptive_config(asked, job), _effort_of(asked, job), is_on=True)


def _adaptive_config(asked: Asked, job: Job) -> JSONObject:
    """With the display that was asked for, or the usual one: imitators know none."""
    imitator = job.facts.reasoning_replay in ("keep_all", "keep_unsigned")
    display = asked.display or (None if imitator else asked.usual_display)
    return {"type": "adaptive"} if display is None else {"type": "adaptive", "display": display}


def _effort_of(asked: Asked, job: Job) -> str | None:
    levels = job.facts.effort_levels
    if asked.effort is None or levels:
        return None if asked.effort is None else nearest_effort(asked.effort, levels, job)
    if not asked.off:
        job.note(
            "coerced", f"reasoning_effort: there are no levels here, not {asked.effort!r}; thinking is on", doc=DOC
        )
    return None


def _enabled(asked: Asked, messages: Messages, max_tokens: int | None, job: Job) -> Thinking:
    """`{type: enabled}` and an effort: api-docs.deepseek.com/guides/anthropic_api."""
    del messages, max_tokens
    if asked.display is not None:
        _dropped("thinking_display", "this endpoint knows no display", job)
    if asked.off:
        return _off(asked, job)
    if asked.budget is not None:
        _dropped("thinking_budget", "this endpoint takes no budget; thinking is on", job)
    return Thinking({"type": "enabled"}, _effort_of(asked, job), is_on=True)


def _off(asked: Asked, job: Job) -> Thinking:
    """How thinking is switched off, by the fact `thinking_off`."""
    how, facts = job.facts.thinking_off, job.facts
    if how == "never":
        effort = _effort_of(asked, job)
        if effort is None:
            job.note("coerced", "reasoning_effort: this model cannot stop thinking", doc=DOC)
        return Thinking(_adaptive_config(asked, job), effort, is_on=True)
    if how == "omit":
        if facts.thinks_by_default:
            job.note(
                "coerced", "reasoning_effort: how this model stops thinking is not known, so it may go on", doc=DOC
            )
        return Thinking(is_on=facts.thinks_by_default)
    if how == "between_tools":
        job.note("coerced", "reasoning_effort: this model goes on thinking between calls of tools", doc=DOC)
        return Thinking({"type": "between_tools"})
    return Thinking({"type": "disabled"})


def _dropped(name: str, why: str, job: Job) -> None:
    job.note("dropped", f"{name}: {why}", doc=DOC)


_FORMS: dict[str, Callable[[Asked, Messages, int | None, Job], Thinking]] = {
    "budget": _budget,
    "adaptive": _adaptive,
    "effort": _enabled,
    "none": _none,
}
"""By the fact `thinking`; other forms are of other APIs."""
