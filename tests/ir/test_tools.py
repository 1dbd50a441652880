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
    ("tool", "says"), [(3, r"tools\[0\] is an int"), ({"type": "function"}, r"tools\[0\] has no function name")]
)
def test_what_is_no_tool_is_told_with_its_place(tool: object, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        definitions([tool])


# --- made once ----------------------------------------------------------------------------------


def test_schemas_are_made_once_however_often_the_tools_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from llmneutral.ir import schemas

    made: list[object] = []
    for name in ("_read_signature", "to_json_schema"):
        original = getattr(schemas, name)

        def counting(of: Any, original: Any = original) -> Any:
            made.append(of)
            return original(of)

        monkeypatch.setattr(schemas, name, counting)

    class Scale(Tool):
        @activity
        def weigh(self, n: int) -> int:
            """Weighs."""
            return n

        @activity(schema={"type": "object", "properties": {"m": {"type": "integer"}}})
        def add(self, m: int) -> int:
            """Adds."""
            return m

    def look(city: str) -> str:
        """Looks."""
        return city

    first = definitions([Scale(), look])
    assert len(made) == 4
    again = definitions([Scale(), look])  # another object of the same class, too
    assert len(made) == 4
    assert all(one.parameters is other.parameters for one, other in zip(first, again, strict=True))


def test_griptapes_config_says_the_same() -> None:
    schema = {"type": "object", "properties": {"decimals": {"type": "integer"}}}

    class Dice(Tool):
        @activity(config={"description": "Rolls.", "schema": schema})
        def roll(self, params: dict[str, Any]) -> str:
            return str(params["values"]["decimals"])

    (found,) = definitions([Dice()])
    assert (found.native_name, found.description, found.parameters) == ("Dice_roll", "Rolls.", schema)
