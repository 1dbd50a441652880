"""Neutral settings as keys of a payload: the table of the common rules, and the rules that hold for every row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import ConversionError, Target, profile
from llmneutral.convert.job import Job
from llmneutral.convert.params import Param, chosen_tool, nearest_effort, put, reasons, write_params
from llmneutral.convert.settings import EFFORTS, SETTINGS, ToolChoice, canonical_settings
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports import get_transport, registered
from tests.convert.jobs import job
from tests.payloads import APIS, body, kinds, made

over_apis = pytest.mark.parametrize("api", APIS)
CHAT, RESPONSES, MESSAGES = APIS
TOOL = ToolDefinition("look", parameters={"type": "object", "properties": {}})
FIXED = {"model", "messages", "input", "store", "include", "tools", "max_tokens"}


def keys(api: str, **settings: Any) -> dict[str, Any]:
    """What settings make of a request beyond what is always in it."""
    found = body(api, "q", **settings)
    asked = {"store", "include", "max_tokens"} & settings.keys()
    return {key: value for key, value in found.items() if key not in FIXED - asked}


USER = {"user_id": "u"}
# setting, then for each API the keys, or the kind of change that says why there are none
TABLE: list[tuple[dict[str, Any], Any, Any, Any]] = [
    ({"max_tokens": 100}, {"max_completion_tokens": 100}, {"max_output_tokens": 100}, {"max_tokens": 100}),
    ({"temperature": 0}, {"temperature": 0}, {"temperature": 0}, {"temperature": 0}),
    ({"top_p": 0.5}, {"top_p": 0.5}, {"top_p": 0.5}, {"top_p": 0.5}),
    ({"top_k": 5}, "dropped", "dropped", {"top_k": 5}),
    ({"stop": "END"}, {"stop": ["END"]}, "dropped", {"stop_sequences": ["END"]}),
    ({"seed": 7}, {"seed": 7}, "dropped", "dropped"),
    ({"presence_penalty": 1}, {"presence_penalty": 1}, "dropped", "dropped"),
    ({"frequency_penalty": 1}, {"frequency_penalty": 1}, "dropped", "dropped"),
    ({"logit_bias": {"1": 2}}, {"logit_bias": {"1": 2}}, "dropped", "dropped"),
    ({"verbosity": "low"}, {"verbosity": "low"}, {"text": {"verbosity": "low"}}, "dropped"),
    ({"metadata": USER}, {"metadata": USER}, {"metadata": USER}, {"metadata": USER}),
    ({"safety_identifier": "u"}, {"safety_identifier": "u"}, {"safety_identifier": "u"}, {"metadata": USER}),
    ({"truncation": "auto"}, "dropped", {"truncation": "auto"}, "dropped"),
    ({"safety_mode": "STRICT"}, "dropped", "dropped", "dropped"),
    ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, {"stream": True}, {"stream": True}),
    ({"n": 1}, {}, {}, {}),
    ({"extra_body": {"x": 1}}, {"x": 1}, {"x": 1}, {"x": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "chat", "responses", "messages"), TABLE, ids=lambda value: str(value)[:40])
def test_where_each_setting_goes(settings: dict[str, Any], chat: Any, responses: Any, messages: Any) -> None:
    for api, wanted in zip(APIS, (chat, responses, messages), strict=True):
        found = made(api, "q", **settings)
        if isinstance(wanted, str):
            assert keys(api, **settings) == {}
            assert kinds(found) == [wanted]
            assert found.changes[0].why.startswith(f"{next(iter(settings))}: ")
        else:
            assert keys(api, **settings) == wanted
            assert found.changes == ()


# setting, value, and for each API the value that goes; None: the API has no such setting
RANGES: list[tuple[str, Any, Any, Any, Any]] = [
    ("temperature", 3, 2, 2, 1),
    ("temperature", 1.5, 1.5, 1.5, 1),
    ("temperature", -1, 0, 0, 0),
    ("top_p", 2, 1, 1, 1),
    ("top_p", -0.5, 0, 0, 0),
    ("presence_penalty", 5, 2, None, None),
    ("presence_penalty", -5, -2, None, None),
    ("top_logprobs", 99, 20, 20, None),
    ("max_tokens", 10_000_000, 32_768, 128_000, 64_000),
    ("max_tokens", 1, 1, 16, 1),
]
KEYS = {
    (CHAT, "max_tokens"): "max_completion_tokens",
    (RESPONSES, "max_tokens"): "max_output_tokens",
}


@pytest.mark.parametrize(("name", "value", "chat", "responses", "messages"), RANGES)
def test_what_is_out_of_range_is_clamped(name: str, value: Any, chat: Any, responses: Any, messages: Any) -> None:
    for api, wanted in zip(APIS, (chat, responses, messages), strict=True):
        found = made(api, "q", **{name: value})
        sent = found.to_json().get(KEYS.get((api, name), name))
        assert sent == wanted
        assert kinds(found) == (["dropped"] if wanted is None else [] if wanted == value else ["coerced"])
        assert all(change.why.startswith(f"{name}: ") for change in found.changes)


def test_too_many_stop_sequences() -> None:
    found = made(CHAT, "q", stop=list("abcdef"))
    assert found.to_json()["stop"] == list("abcd")
    assert kinds(found) == ["dropped"]
    assert kinds(made(MESSAGES, "q", stop=[" ", "a"])) == ["dropped"]
    assert body(MESSAGES, "q", stop=[" ", "a"])["stop_sequences"] == ["a"]
    assert body(MESSAGES, "q", stop=list("abcdef"))["stop_sequences"] == list("abcdef")


@over_apis
def test_one_of_temperature_and_top_p_where_both_are_refused(api: str) -> None:
    found = made(api, "q", temperature=0.5, top_p=0.5)
    assert ("top_p" in found.to_json()) is (api != MESSAGES)
    assert kinds(found) == (["dropped"] if api == MESSAGES else [])


@over_apis
@pytest.mark.parametrize("facts", [{"sampling": False}, {"rejects": ("temperature",), "rejects_when": "always"}])
def test_what_the_model_refuses_is_dropped(api: str, facts: dict[str, Any]) -> None:
    found = made(api, "q", temperature=0.5, facts=facts)
    assert "temperature" not in found.to_json()
    assert [(change.kind, change.why.partition(":")[0]) for change in found.changes] == [("dropped", "temperature")]
    assert "temperature" in made(api, "q", temperature=0.5, facts={"sampling": True, "rejects": ()}).to_json()


@over_apis
def test_what_the_model_refuses_only_while_it_reasons(api: str) -> None:
    facts = {"rejects": ("temperature",), "rejects_when": "reasoning", "effort_default": None}
    assert "temperature" in body(api, "q", temperature=1, facts=facts)
    assert "temperature" not in body(api, "q", temperature=1, facts={**facts, "thinks_by_default": True})


@over_apis
def test_an_endpoint_that_takes_no_limit(api: str) -> None:
    if api == MESSAGES:
        return  # it demands one
    found = made(api, "q", max_tokens=100, facts={"max_tokens_accepted": False})
    assert kinds(found) == ["dropped"]
    assert not [key for key in found.to_json() if "tokens" in key]


@over_apis
def test_extra_body_is_merged_last_and_wins(api: str) -> None:
    found = made(api, "q", temperature=1, extra_body={"temperature": 0.5, "vendor": {"on": True}})
    assert found.to_json()["temperature"] == 0.5
    assert found.to_json()["vendor"] == {"on": True}
    assert found.changes == ()


@over_apis
def test_several_answers_are_refused(api: str) -> None:
    with pytest.raises(ConversionError, match="the setting n is 2"):
        made(api, "q", n=2)


@over_apis
def test_parallel_calls(api: str) -> None:
    found = made(api, "q", parallel_tool_calls=False)
    assert kinds(found) == ["dropped"]
    sent = body(api, "q", parallel_tool_calls=False, tools=[TOOL])
    if api == MESSAGES:
        assert sent["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    else:
        assert sent["parallel_tool_calls"] is False


# --- tool choice --------------------------------------------------------------------------------

CHOICES: list[tuple[Any, Any, Any, Any]] = [
    (None, None, None, None),
    ("auto", "auto", "auto", None),
    ("none", "none", "none", {"type": "none"}),
    ("required", "required", "required", {"type": "any"}),
    (
        "look",
        {"type": "function", "function": {"name": "look"}},
        {"type": "function", "name": "look"},
        {"type": "tool", "name": "look"},
    ),
]


@pytest.mark.parametrize(("choice", "chat", "responses", "messages"), CHOICES)
def test_tool_choice(choice: Any, chat: Any, responses: Any, messages: Any) -> None:
    for api, wanted in zip(APIS, (chat, responses, messages), strict=True):
        assert body(api, "q", tools=[TOOL], tool_choice=choice).get("tool_choice") == wanted


@over_apis
@pytest.mark.parametrize("choice", ["auto", "none"])
def test_without_tools_there_is_nothing_to_choose(api: str, choice: str) -> None:
    assert "tool_choice" not in body(api, "q", tool_choice=choice)


@over_apis
@pytest.mark.parametrize(
    ("choice", "tools", "words"),
    [
        ("required", [], "'required' needs tools"),
        ("look", [], "'named' needs tools"),
        ("gone", [TOOL], "names 'gone', which is not among the tools: look"),
        ({"type": "allowed_tools", "tools": [{"name": "gone"}]}, [TOOL], "names 'gone'"),
    ],
)
def test_a_choice_that_cannot_be(api: str, choice: Any, tools: list[Any], words: str) -> None:
    with pytest.raises(ConversionError, match=words) as caught:
        made(api, "q", tool_choice=choice, tools=tools)
    assert caught.value.rule == "tool_choice"


def test_many_tools_are_not_all_listed() -> None:
    tools = [ToolDefinition(f"a_tool_of_a_long_name_{n}") for n in range(60)]
    with pytest.raises(ConversionError, match="and 55 more") as caught:
        made(CHAT, "q", tool_choice="gone", tools=tools)
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("facts", "choice", "found", "offered"),
    [
        ({"tool_choice_named": False}, "look", ToolChoice("required"), ["look"]),
        ({"tool_choice_none": False}, "none", None, []),
        ({"tool_choice_required": False}, "required", ToolChoice("auto"), ["look", "other"]),
        ({"tool_choice_required": False}, "look", ToolChoice("auto"), ["look", "other"]),
        ({}, "required", ToolChoice("required"), ["look", "other"]),
    ],
)
def test_what_an_endpoint_cannot_do(facts: dict[str, Any], choice: str, found: Any, offered: list[str]) -> None:
    made_job = job(tools=[TOOL, ToolDefinition("other")], facts=facts, tool_choice=choice)
    assert chosen_tool(made_job) == found
    assert [tool.name for tool in made_job.tools] == offered
    assert [change.kind for change in made_job.note.changes] == (["coerced"] if facts else [])
    assert made_job.note.step == ""


# --- effort -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effort", "levels", "sent"),
    [
        ("high", ("low", "high"), "high"),
        ("medium", ("low", "high"), "high"),  # a tie: the higher
        ("minimal", ("low", "high"), "low"),
        ("max", ("low", "medium", "high"), "high"),
        ("xhigh", ("none", "low", "max"), "max"),
        ("none", ("low", "medium"), "low"),
        ("none", ("none", "low"), "none"),
        ("low", (), "low"),
    ],
)
def test_the_nearest_effort(effort: str, levels: tuple[str, ...], sent: str) -> None:
    made_job = job()
    assert nearest_effort(effort, levels, made_job) == sent
    assert [change.kind for change in made_job.note.changes] == ([] if effort == sent else ["coerced"])


@given(st.sampled_from(EFFORTS), st.lists(st.sampled_from(EFFORTS), unique=True))
def test_an_effort_is_one_the_model_has(effort: str, levels: list[str]) -> None:
    found = nearest_effort(effort, tuple(levels), job())
    assert found in (levels or [effort])


@pytest.mark.parametrize(
    ("settings", "facts", "found"),
    [
        ({}, {}, False),
        ({}, {"thinks_by_default": True}, True),
        ({}, {"effort_default": "none"}, False),
        ({}, {"effort_default": "high"}, True),
        ({"reasoning_effort": "none"}, {"thinks_by_default": True}, False),
        ({"reasoning_effort": "low"}, {}, True),
        ({"thinking_budget": 0}, {"thinks_by_default": True}, False),
        ({"thinking_budget": 1}, {}, True),
    ],
)
def test_whether_the_model_reasons(settings: dict[str, Any], facts: dict[str, Any], found: bool) -> None:
    assert reasons(job(facts=facts, **settings)) is found


# --- rows ---------------------------------------------------------------------------------------


def written(rows: dict[str, Param], **settings: Any) -> tuple[dict[str, Any], Job]:
    transport = get_transport(MESSAGES)
    table = type("Rows", (), {"params": rows, "blocks": transport.blocks})()
    target = Target(MESSAGES, profile(MESSAGES), settings=canonical_settings(settings))
    made_job, payload = Job(table, [], (), target, trace=False), {}  # type: ignore[var-annotated]
    write_params(made_job, payload)
    return payload, made_job


def test_a_row_says_where_and_how() -> None:
    rows = {
        "seed": Param("config.random.seed"),
        "stop": Param("stop", most=2),
        "temperature": Param("t", low=0.1, high=0.9),
        "top_k": Param(write=lambda value, job, payload: payload.update(k=value * 2)),
        "top_p": Param(),
    }
    payload, made_job = written(rows, seed=1, stop=["a", "b", "c"], temperature=2, top_k=3, top_p=9)
    assert payload == {"config": {"random": {"seed": 1}}, "stop": ["a", "b"], "t": 0.9, "k": 6}
    assert [change.kind for change in made_job.note.changes] == ["dropped", "coerced"]


def test_what_has_no_row_is_dropped_and_policies_are_no_keys() -> None:
    payload, made_job = written({}, seed=1, orphan_calls="strip", extra_body={"a": 1})
    assert payload == {}
    assert [change.why.partition(":")[0] for change in made_job.note.changes] == ["seed"]


def test_a_key_goes_deeper_at_each_dot() -> None:
    payload: dict[str, Any] = {"a": {"x": 1}}
    put(payload, "a.b.c", 2)
    put(payload, "d", 3)
    assert payload == {"a": {"x": 1, "b": {"c": 2}}, "d": 3}


@pytest.mark.parametrize("api", registered())
def test_every_row_is_a_setting_and_its_document_an_address(api: str) -> None:
    rows = get_transport(api).params
    assert set(rows) <= set(SETTINGS)
    assert not [name for name in rows if SETTINGS[name].policy]
    assert not [row.doc for row in rows.values() if row.doc is not None and not row.doc.startswith("https://")]


VALUES = {
    "max_tokens": 100, "temperature": 0.5, "top_p": 0.5, "top_k": 5, "stop": ["x"], "seed": 1, "presence_penalty": 1,
    "frequency_penalty": 1, "logit_bias": {"1": 1}, "logprobs": True, "top_logprobs": 2, "reasoning_effort": "low",
    "thinking_budget": 2000, "reasoning_summary": "auto", "thinking_display": "omitted", "verbosity": "low",
    "tool_choice": "auto", "parallel_tool_calls": True, "response_format": {"type": "text"}, "stream": True,
    "store": True, "service_tier": "auto", "metadata": {"user_id": "u"}, "safety_identifier": "u",
    "prompt_cache_key": "k", "truncation": "auto", "modalities": ["text"], "audio": {"voice": "alloy", "format": "wav"},
    "safety_settings": [], "safety_mode": "NONE", "documents": ["d"], "citation_options": {"mode": "FAST"},
    "cached_content": "c", "guardrail_config": {"guardrailIdentifier": "g", "guardrailVersion": "1"}, "speed": "fast",
    "cache_control": {"type": "ephemeral"},
}  # fmt: skip


@pytest.mark.parametrize("api", registered())
@pytest.mark.parametrize(
    "name", [name for name, setting in SETTINGS.items() if not setting.policy and name != "extra_body"]
)
def test_no_setting_is_lost_in_silence(api: str, name: str) -> None:
    """It changes the request, or a change names it."""

    def convert(**settings: Any) -> Any:
        return llmneutral.convert("q", api, **{"max_tokens": 5000, **settings})

    plain, found = convert(), convert(**{name: VALUES[name]})
    told = any(name in change.why for change in found.changes)
    # auto and text are what is done anyway; whether it is streamed is no key everywhere
    defaults = {"tool_choice", "response_format", "parallel_tool_calls", "stream"}
    changed = found.to_json() != plain.to_json() or found.headers != plain.headers
    assert changed or told or name in defaults
