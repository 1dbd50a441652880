"""A schema as a grammar."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llmneutral.convert.grammar import HEAD, json_grammar
from llmneutral.drivers import local_template


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "string", "enum": ["größe"]}])
def test_the_schema_stands_behind_the_head_without_room_for_white_space(schema: dict[str, Any]) -> None:
    before = dict(schema)
    grammar = json_grammar(schema)
    assert grammar.startswith(HEAD)
    assert json.loads(grammar.removeprefix(HEAD)) == {**schema, "x-guidance": {"whitespace_flexible": False}}
    assert len(grammar.splitlines()) == 2
    assert schema == before


def test_there_is_one_of_it() -> None:
    assert local_template.json_grammar is json_grammar
