"""Schemas in a request: written in a dialect, every loss told once."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import ConversionError, Target, profile
from llmneutral.convert.job import Job
from llmneutral.convert.tool_schemas import answer_schema, known_tools, tool_schema
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports import get_transport

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def job(*tools: ToolDefinition, **facts: Any) -> Job:
    target = Target("anthropic_messages", profile("anthropic_messages", model="claude-sonnet-4-5", facts=facts))
    return Job(get_transport("anthropic_messages"), [], tools, target, trace=False)


def told(made: Job) -> list[str]:
    return [change.kind for change in made.note.changes]


def test_a_schema_that_fits_is_no_change() -> None:
    made = job()
    assert tool_schema(ToolDefinition("f", parameters=CITY), "f", "anthropic", made) == (CITY, None)
    assert told(made) == []


def test_what_is_lost_is_one_change_a_tool() -> None:
    made = job()
    root = {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {}}
    found = tool_schema(ToolDefinition("f", parameters=root), "f", "anthropic", made)
    assert "anyOf" not in found.schema
    assert told(made) == ["coerced"]
    assert "'f'" in made.note.changes[0].why


def test_renamed_keys_come_into_the_table_of_names() -> None:
    made = job()
    tool_schema(ToolDefinition("f", parameters={"properties": {"bad key!": {}}}), "f_1", "anthropic", made)
    assert list(made.names.renamed["f_1"].values()) == ["bad key!"]
    assert told(made) == ["renamed"]


@pytest.mark.parametrize(
    ("strict", "facts", "sent", "kinds"),
    [
        (True, {}, True, ["rewritten"]),
        (False, {}, False, []),
        (None, {}, None, []),
        (True, {"strict_tools": False}, None, ["coerced"]),
    ],
)
def test_strict(strict: Any, facts: Any, sent: Any, kinds: list[str]) -> None:
    made = job(**facts)
    found = tool_schema(ToolDefinition("f", parameters=CITY, strict=strict), "f", "anthropic", made)
    assert found.strict is sent
    assert ("additionalProperties" in found.schema) is (sent is True)
    assert told(made) == kinds


def test_the_nulls_of_strict_mode_do_not_reach_the_tool() -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    made = job()
    sent = tool_schema(ToolDefinition("f", parameters=parameters, strict=True), "f", "responses", made)
    assert sent.schema["required"] == ["city", "days"]
    assert made.names.restored("f", {"city": "Oslo", "days": None}) == {"city": "Oslo"}
    arguments = {"city": "Oslo", "days": 3}
    assert made.names.restored("f", arguments) is arguments


def test_strict_that_cannot_be_enforced_is_off() -> None:
    made = job()
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    endless = {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    found = tool_schema(ToolDefinition("f", parameters=endless, strict=True), "f", "anthropic", made)
    assert found.strict is False
    assert told(made) == ["coerced"]


def test_a_schema_that_cannot_be_sent_names_its_tool() -> None:
    with pytest.raises(ConversionError, match=r"the tool 'f'.*schema") as caught:
        tool_schema(
            ToolDefinition("f", parameters={"properties": {"a": {"default": float("nan")}}}), "f", "anthropic", job()
        )
    assert caught.value.rule == "schema"


def test_the_schema_of_an_answer() -> None:
    made = job()
    found = answer_schema(
        {**CITY, "properties": {"city": {"type": "string", "minLength": 2}}}, "anthropic_output", made
    )
    assert found["additionalProperties"] is False
    assert "minLength" not in found["properties"]["city"]
    assert [(change.step, change.kind) for change in made.note.changes] == [
        ("output_schema", "coerced"),
        ("output_schema", "rewritten"),
    ]


def test_tools_of_other_providers() -> None:
    ours, theirs = ToolDefinition("a", native={"type": "ours"}), ToolDefinition("b", native={"type": "theirs"})
    both = ToolDefinition("c", parameters=CITY, native={"type": "theirs", "deferred": True})
    plain = ToolDefinition("d", parameters=CITY)
    made = job(ours, theirs, both, plain)
    known_tools(made, lambda native: native["type"] == "ours")
    assert made.tools == (ours, ToolDefinition("c", parameters=CITY), plain)
    assert told(made) == ["dropped", "coerced"]


def test_nothing_to_leave_out_changes_nothing() -> None:
    made = job(ToolDefinition("d", parameters=CITY))
    before = made.tools
    known_tools(made, lambda native: False)
    assert made.tools is before
