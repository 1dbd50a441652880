"""Neutral settings → keys of a payload: one row a setting, and the rules that hold for all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from llmneutral.convert.settings import SETTINGS, ToolChoice
from llmneutral.ir.jsontext import JSONObject

if TYPE_CHECKING:
    from llmneutral.convert.job import Job
    from llmneutral.profiles import Profile

Writer = Callable[[Any, "Job", JSONObject], None]
FORCING = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use"
MOST_LISTED = 5
SAMPLING = frozenset({"temperature", "top_p", "top_k"})


class Param(msgspec.Struct, frozen=True):
    """Where a setting goes, and what it may be there; with neither key nor `write` the frame writes it.

    Attributes:
        key: The key of the payload; a dot goes one object deeper.
        low: Lowest value; below it is raised to it.
        high: Highest value; above it is lowered to it.
        most: Most entries of a list; the first ones are kept.
        write: Writes the value itself where a key is not enough: `(value, job, payload)`.
        doc: Where the provider says so.
    """

    key: str | None = None
    low: float | None = None
    high: float | None = None
    most: int | None = None
    write: Writer | None = None
    doc: str | None = None


def write_params(job: Job, payload: JSONObject) -> None:
    """Writes every setting of the call into a payload by the transport's table.

    A setting the API or the model does not take is dropped, a number out of range clamped, a list too
    long cut: each is a Change that names the setting.
    """
    before, job.note.step = job.note.step, "params"
    rows = job.transport.params
    for name in job.settings:
        setting = SETTINGS[name]
        if setting.policy or name == "extra_body":
            continue
        if (reason := _unwanted(name, rows, job)) is not None:
            job.note("dropped", f"{name}: {reason}")
    for name, row in rows.items():
        value = job.settings.get(name)
        if value is None or (row.key is None and row.write is None) or _unwanted(name, rows, job) is not None:
            continue
        value = _fitted(name, value, row, job)
        if row.write is not None:
            row.write(value, job, payload)
        elif row.key is not None:
            put(payload, row.key, value)
    job.note.step = before


def put(payload: JSONObject, key: str, value: Any) -> None:
    """Sets a key; a dot in it goes one object deeper."""
    *outer, last = key.split(".")
    for name in outer:
        payload = payload.setdefault(name, {})
    payload[last] = value


def is_sent(name: str, job: Job) -> bool:
    """Whether a setting goes out to this target, if it is set."""
    return _unwanted(name, job.transport.params, job) is None


def _unwanted(name: str, rows: Any, job: Job) -> str | None:
    """Says why a setting is not sent, or None."""
    if name not in rows:
        return f"{job.target.api} has no such setting"
    facts = job.facts
    if name == "max_tokens" and not facts.max_tokens_accepted:
        return "this endpoint takes no limit of the answer"
    if name in facts.rejects and (facts.rejects_when == "always" or reasons(job)):
        return f"{job.target.model or 'this model'} does not take it"
    if name in SAMPLING and not facts.sampling:
        return f"{job.target.model or 'this model'} takes no sampling settings"
    return None


def reasons(job: Job) -> bool:
    """Whether the model reasons in this request: as asked, or where nothing is asked, by its default."""
    return thinks(job.settings, job.facts)


def thinks(settings: Mapping[str, Any], facts: Profile) -> bool:
    """The same of canonical settings, before there is a conversion."""
    effort = settings.get("reasoning_effort")
    if effort is None and (budget := settings.get("thinking_budget")) is not None:
        return bool(budget)
    if effort is None:
        effort = facts.effort_default or ("default" if facts.thinks_by_default else "none")
    return bool(effort != "none")


def enforces_schemas(facts: Profile) -> bool:
    """Whether an answer may be asked for by a schema in the API's own field: always, unless it is known not to work."""
    if facts.native_json_schema or facts.json_grammar is not None:
        return True
    told = facts.sources["native_json_schema"]
    return told == "default" or told.startswith("api:")


def stop_at(key: str, doc: str | None = None) -> Writer:
    """Returns what writes stop sequences under a key: as many as are taken; an empty list is none."""

    def write(value: list[str], job: Job, payload: JSONObject) -> None:
        most = job.facts.max_stop
        if most is not None and len(value) > most:
            job.note("dropped", f"stop: only the first {most} of {len(value)} are taken", doc=doc)
            value = value[:most]
        if value:
            payload[key] = value

    return write


def _fitted(name: str, value: Any, row: Param, job: Job) -> Any:
    if row.low is not None and value < row.low:
        job.note("coerced", f"{name}: {value} is below the lowest value {row.low:g}", doc=row.doc)
        return _bound(row.low, value)
    if row.high is not None and value > row.high:
        job.note("coerced", f"{name}: {value} is above the highest value {row.high:g}", doc=row.doc)
        return _bound(row.high, value)
    if name == "max_tokens" and (most := job.facts.max_output) is not None and value > most:
        job.note("coerced", f"max_tokens: {value} is more than the {most} this model writes at most", doc=row.doc)
        return most
    if row.most is not None and len(value) > row.most:
        job.note("dropped", f"{name}: only the first {row.most} of {len(value)} are taken", doc=row.doc)
        return value[: row.most]
    return value


def _bound(bound: float, value: Any) -> Any:
    """A bound in the type of a value, unless it is a fraction: the whole number beside 0.99 is none of the range."""
    return type(value)(bound) if float(bound).is_integer() else bound


def nearest_effort(effort: str, levels: tuple[str, ...], job: Job) -> str:
    """Returns an effort the model has: the asked one, or the nearest (the higher on a tie), with a Change."""
    from llmneutral.convert.settings import EFFORTS

    if not levels or effort in levels:
        return effort
    at = EFFORTS.index(effort)
    known = [level for level in levels if level in EFFORTS] or list(levels)
    best = min(known, key=lambda level: (abs(EFFORTS.index(level) - at), -EFFORTS.index(level)))
    if effort == "none":  # thinking cannot be off: the least of it
        best = min(known, key=EFFORTS.index)
    job.note("coerced", f"reasoning_effort: {effort!r} is no level of this model; the nearest is {best!r}")
    return best


def chosen_tool(job: Job) -> ToolChoice | None:
    """Returns the tool choice to write, after the model's and endpoint's facts, or None to write nothing.

    No tools: nothing is written; `required` or a named tool without tools is refused.
    A named tool that is not offered is refused.
    """
    choice: ToolChoice | None = job.settings.get("tool_choice")
    if choice is None:
        return None
    before, job.note.step = job.note.step, "tool_choice"
    if not job.tools:
        if choice.mode in ("required", "named", "allowed"):
            job.refuse(
                f"tool_choice {choice.mode!r} needs tools, and none are given; give tools=, or leave tool_choice out",
                rule="tool_choice",
            )
        job.note.step = before
        return None
    offered = {tool.native_name for tool in job.tools} | {tool.name for tool in job.tools}
    for name in choice.names:
        if name not in offered:
            job.refuse(f"tool_choice names {name!r}, which is not among the tools: {_listed(offered)}")
    choice = _allowed_by_facts(choice, job)
    job.note.step = before
    return choice


def _listed(names: Iterable[str]) -> str:
    first, rest = sorted(names)[:MOST_LISTED], sorted(names)[MOST_LISTED:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")


def _allowed_by_facts(choice: ToolChoice, job: Job) -> ToolChoice | None:
    facts = job.facts
    if choice.mode == "named" and not facts.tool_choice_named:
        job.tools = tuple([t for t in job.tools if choice.names[0] in (t.native_name, t.name)])
        job.note(
            "coerced", f"tool_choice: one tool cannot be named here; only {choice.names[0]!r} is offered, and required"
        )
        choice = ToolChoice("required")
    if choice.mode == "none" and not facts.tool_choice_none:
        job.tools = ()
        job.note("coerced", "tool_choice: 'none' is not honoured here; the tools are not sent")
        return None
    if choice.mode in ("required", "named") and not facts.tool_choice_required:
        job.note("coerced", f"tool_choice: {choice.mode!r} is refused by this model; 'auto' is sent")
        return ToolChoice("auto")
    return choice


def narrowed(choice: ToolChoice, job: Job) -> ToolChoice:
    """Returns the choice for an API without a list of allowed tools: only these are offered."""
    job.tools = tuple([t for t in job.tools if t.native_name in choice.names or t.name in choice.names])
    listed = ", ".join(choice.names)
    job.note("coerced", f"tool_choice: there is no list of allowed tools here; only {listed} are offered")
    return ToolChoice("required" if choice.force else "auto")


def unforced(choice: ToolChoice, job: Job, *, thinks: bool) -> ToolChoice:
    """Returns a forced choice, or `auto` where the model takes none, or none while it thinks.

    Raises:
        ConversionError: If it takes none, and `on_conflict` is `refuse`.
    """
    if not job.facts.forced_tool_choice:
        why = f"{job.target.model or 'this model'} takes no forced call of a tool"
    elif thinks and not job.facts.forced_with_thinking:
        why = "a call cannot be forced while the model thinks"
    else:
        return choice
    if job.setting("on_conflict") == "refuse":
        job.refuse(f"tool_choice {choice.mode!r}: {why}", rule="tool_choice", doc=FORCING)
    job.note("coerced", f"tool_choice: {why}; 'auto' is sent", doc=FORCING)
    return ToolChoice("auto")
