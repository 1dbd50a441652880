"""Tools: what a model is told of them, and the pair of names."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import ConfigurationError, Tool, ToolAction, ToolDefinition, activity
from llmneutral.ir.tools import definitions


class Calculator(Tool):
    """Calculates."""

    @activity
    def add(self, a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @activity(description="Negates.", schema={"type": "object", "properties": {"n": {"type": "integer"}}})
    def negate(self, n: int) -> int:
        return -n

    def not_for_models(self) -> None:
        """Stays here."""


def test_names_both_ways_as_in_griptape() -> None:
    assert ToolAction("t", "Calculator", "add").to_native_tool_name() == "Calculator_add"
    assert ToolAction("t", "look").to_native_tool_name() == "look"
    assert ToolAction.from_native_tool_name("Calculator_add") == ("Calculator", "add")
    assert ToolAction.from_native_tool_name("look") == ("look", None)


def test_with_a_table_names_are_looked_up() -> None:
    names = {"my_tool_x": ("my_tool", "x")}
    assert ToolAction.from_native_tool_name("my_tool_x", names) == ("my_tool", "x")
    assert ToolAction.from_native_tool_name("un_known", names) == ("un_known", None)


def test_a_tool_gives_one_definition_an_activity() -> None:
    add, negate = definitions([Calculator()])
    assert (add.name, add.path, add.native_name, add.description) == (
        "Calculator",
        "add",
        "Calculator_add",
        "Adds two numbers.",
    )
    assert add.parameters is not None
    assert add.parameters["required"] == ["a", "b"]
    assert negate.description == "Negates."
    assert negate.parameters == {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert add.function is not None
    assert add.function(2, 3) == 5


def test_a_class_and_a_function_are_taken_too() -> None:
    def look(city: str) -> str:
        """Looks."""
        return city

    assert [tool.native_name for tool in definitions([Calculator, look])] == [
        "Calculator_add",
        "Calculator_negate",
        "look",
    ]


def test_openai_dicts_both_ways() -> None:
    given: dict[str, Any] = {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True},
        "cache": True,
    }
    (found,) = definitions([given])
    assert found == ToolDefinition("f", None, "d", {"type": "object"}, True, True)
    assert found.to_openai() == given


def test_a_providers_own_tool_passes_through() -> None:
    (found,) = definitions([{"type": "web_search", "max_uses": 2}])
    assert found.native == {"type": "web_search", "max_uses": 2}
    assert found.to_openai() == {"type": "web_search", "max_uses": 2}


@pytest.mark.parametrize(
    ("tool", "says"), [(3, r"tools\[0\] is a int"), ({"type": "function"}, r"tools\[0\] has no function name")]
)
def test_what_is_no_tool_is_told_with_its_place(tool: object, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        definitions([tool])
