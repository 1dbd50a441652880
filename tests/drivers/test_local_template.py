"""The chat template and the JSON grammar of the embedded model, as text."""

from __future__ import annotations

import json

import pytest

from llmneutral.drivers.local_template import (
    DEFAULT_SYSTEM,
    THINKING_EXAMPLES,
    TOOL_EXAMPLES,
    chat_template,
    json_grammar,
)

# What llama.cpp looks for when it makes a grammar for tool calls and thoughts.
MARKERS = ("<tool_call>", "</tool_call>", "<tool_response>", "<think>", "</think>", "<|im_start|>", "<|im_end|>")


@pytest.mark.parametrize("marker", MARKERS)
def test_template_has_the_markers(marker: str) -> None:
    assert marker in chat_template()


def test_template_has_no_placeholder_left() -> None:
    template = chat_template()
    assert [name for name in ("DEFAULT_SYSTEM", "TOOL_EXAMPLES", "THINKING_EXAMPLES") if name in template] == []


def test_template_holds_every_example_as_a_literal() -> None:
    template = chat_template()
    assert DEFAULT_SYSTEM in template
    for question, name, arguments in TOOL_EXAMPLES:
        assert f'{question}<|im_end|>\\n<|im_start|>assistant\\n<tool_call>\\n{{"name": "{name}"' in template
        assert arguments in template
    for question, thoughts, answer in THINKING_EXAMPLES:
        assert question in template
        assert thoughts.replace("\n", "\\n") + "\\n</think>\\n\\n" + answer in template


def test_tool_examples_are_json() -> None:
    assert all(isinstance(json.loads(arguments), dict) for _, _, arguments in TOOL_EXAMPLES)


def test_grammar_holds_the_schema_and_asks_for_compact_json() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}
    first, start = json_grammar(schema).split("\n")
    assert first == "%llguidance {}"
    assert start.startswith("start: %json ")
    told = json.loads(start.removeprefix("start: %json "))
    assert told.pop("x-guidance") == {"whitespace_flexible": False}
    assert told == {**schema, "additionalProperties": False}


def test_grammar_leaves_the_schema_as_it_was() -> None:
    schema = {"type": "object"}
    json_grammar(schema)
    assert schema == {"type": "object"}
