"""Schemas of types and of functions."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import gc
import typing
import weakref
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

import jsonschema  # type: ignore[import-untyped]
import pydantic
import pytest
import typing_extensions
from pydantic import Field

from llmneutral.errors import ConfigurationError
from llmneutral.ir.schemas import bind_arguments, function_schema, schema_name, to_json_schema, type_adapter
from llmneutral.ir.tools import Tool, activity, definitions


class Node(pydantic.BaseModel):
    """A node."""

    value: int
    kids: list[Node] = []


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Inner(typing.TypedDict):
    a: int


class Outer(typing.TypedDict, total=False):
    inner: typing.Required[Inner]
    many: list[Inner | None]
    by_name: dict[str, Annotated[Inner, Field(description="one")]]
    mode: Literal["a", "b"]


class Loop(typing.TypedDict):
    next: list[Loop | None]


class Extended(typing_extensions.TypedDict):
    a: int


KINDS = [
    Node,
    Point,
    Outer,
    Extended,
    Colour,
    list[Node],
    int,
    Literal["a", "b"],
    dict[str, Point],
    pydantic.TypeAdapter(Point),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_gives_a_valid_schema(kind: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(to_json_schema(kind))


def test_a_model_gives_what_pydantic_gives() -> None:
    assert to_json_schema(Node) == Node.model_json_schema()


def test_a_typed_dict_of_the_standard_library_works_with_all_that_is_in_it() -> None:
    schema = to_json_schema(Outer)
    assert schema["title"] == "Outer"
    assert schema["required"] == ["inner"]
    assert schema["properties"]["many"]["items"]["anyOf"] == [{"$ref": "#/$defs/Inner"}, {"type": "null"}]
    assert schema["properties"]["by_name"]["additionalProperties"] == {"$ref": "#/$defs/Inner", "description": "one"}
    assert schema["properties"]["mode"]["enum"] == ["a", "b"]
    assert type_adapter(Outer).validate_python({"inner": {"a": "1"}}) == {"inner": {"a": 1}}


def test_a_schema_is_copied() -> None:
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}
    before = copy.deepcopy(schema)
    made = to_json_schema(schema)
    assert made == before
    made["properties"]["a"]["type"] = "integer"
    assert schema == before


def test_an_object_that_makes_its_schema_itself() -> None:
    class Schema:
        name = None

        def json_schema(self, schema_id: str, use_refs: bool = False) -> dict[str, Any]:
            return {"$id": schema_id, "$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}

    assert to_json_schema(Schema()) == {"type": "object", "title": "output"}


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Point(1.0), "Point"),
        (Node(value=1), "instance of Node"),
        (Callable[[], int], "Callable"),
        ({"type": "json_schema", "json_schema": {}}, "json_schema"),
        ({"type": ["string", "text"]}, "text"),
        ("Node", "Node"),
        pytest.param(Loop, "Loop", marks=pytest.mark.skipif("sys.version_info >= (3, 12)", reason="pydantic reads it")),
    ],
)
def test_what_has_no_schema_is_named(kind: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        to_json_schema(kind)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"title": "Answer"}, "Answer"),
        ({"title": "Page[int] of rows"}, "Page_int_of_rows"),
        ({"title": "x" * 80}, "x" * 64),
        ({"title": "Ответ"}, "output"),
        ({"title": 3}, "output"),
        ({}, "output"),
        (Node.model_json_schema(), "Node"),
    ],
)
def test_schema_name(schema: dict[str, Any], name: str) -> None:
    assert schema_name(schema) == name


# --- functions --------------------------------------------------------------------------------------------------------


def google(city: str, unit: Literal["c", "f"] = "c", days: int | None = None) -> str:
    """Get the weather.

    It may rain.

    Args:
        city: The city,
            with its country.
        unit (str): The unit.
        days: How many days.

    Returns:
        A text.
    """
    return f"{city} {unit} {days}"


def numpy_style(city, unit="c"):  # type: ignore[no-untyped-def]  # a function without hints is a tool too
    """Get the weather.

    Parameters
    ----------
    city : str
        The city.
    unit, other : str, optional
        The unit.
    """


def sphinx(city: str, unit: str) -> None:
    """Get the weather.

    :param city: The city.
    :param str unit: The unit.
    :returns: nothing
    """


def test_hints_defaults_and_docstring() -> None:
    assert function_schema(google) == (
        "google",
        "Get the weather.\n\nIt may rain.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city, with its country."},
                "unit": {"type": "string", "enum": ["c", "f"], "default": "c", "description": "The unit."},
                "days": {
                    "anyOf": [{"type": "integer"}, {"type": "null"}],
                    "default": None,
                    "description": "How many days.",
                },
            },
            "required": ["city"],
        },
    )


@pytest.mark.parametrize("function", [google, numpy_style, sphinx])
def test_docstring_styles(function: Callable[..., Any]) -> None:
    _, description, parameters = function_schema(function)
    assert description.startswith("Get the weather.")
    assert ":param" not in description
    assert "Parameters" not in description
    assert parameters["properties"]["city"]["description"].startswith("The city")
    assert parameters["properties"]["unit"]["description"] == "The unit."


def test_annotated_wins_over_the_docstring() -> None:
    def f(
        a: Annotated[int, Field(description="from Field", ge=1)],
        b: Annotated[str, "from a string"],
        c: Annotated[str, typing_extensions.Doc("from Doc")],
        d: str = Field("x", description="from the default", max_length=3),
    ) -> None:
        """Do it.

        Args:
            a: doc
            b: doc
            c: doc
            d: doc
        """

    parameters = function_schema(f)[2]
    assert parameters["properties"] == {
        "a": {"type": "integer", "minimum": 1, "description": "from Field"},
        "b": {"type": "string", "description": "from a string"},
        "c": {"type": "string", "description": "from Doc"},
        "d": {"type": "string", "maxLength": 3, "default": "x", "description": "from the default"},
    }
    assert parameters["required"] == ["a", "b", "c"]


def test_models_share_their_definitions_and_names_may_be_odd() -> None:
    def f(
        root: Annotated[Node, Field(description="the root")], others: list[Node], json: int, _private: int = 1
    ) -> None: ...

    parameters = function_schema(f)[2]
    assert parameters["properties"]["root"] == {"$ref": "#/$defs/Node", "description": "the root"}
    assert parameters["properties"]["others"]["items"] == {"$ref": "#/$defs/Node"}
    assert list(parameters["properties"]) == ["root", "others", "json", "_private"]
    assert list(parameters["$defs"]) == ["Node"]
    assert Node.model_json_schema()["$defs"]["Node"]["description"] == "A node.", "the model's own schema is untouched"


def test_no_parameters() -> None:
    def now() -> str:
        return ""

    assert function_schema(now) == ("now", "", {"type": "object", "properties": {}})


class Box:
    """A box."""

    def put(self, what: str) -> str:
        """Put it in."""
        return what

    @classmethod
    def make(cls, size: int) -> int:
        return size

    @staticmethod
    def weigh(grams: float) -> float:
        return grams

    def __call__(self, deep: bool) -> bool:
        """Look into it."""
        return deep


@pytest.mark.parametrize(
    ("function", "name", "properties"),
    [
        (Box().put, "put", ["what"]),
        (Box.put, "put", ["what"]),
        (Box.make, "make", ["size"]),
        (Box.weigh, "weigh", ["grams"]),
        (Box(), "Box", ["deep"]),
        (functools.partial(google, unit="f"), "google", ["city", "days"]),
        (functools.partial(google, "Oslo"), "google", ["unit", "days"]),
        (functools.partial(Box(), True), "__call__", []),
        (Point, "Point", ["x", "y"]),
        (len, "len", ["obj"]),
    ],
)
def test_every_kind_of_callable(function: Callable[..., Any], name: str, properties: list[str]) -> None:
    made = function_schema(function)
    if name != "__call__":
        assert made.name == name
    assert list(made.parameters["properties"]) == properties


def test_a_partial_does_not_show_what_it_binds() -> None:
    def f(q: str, api_key: str) -> None: ...

    assert "hidden" not in str(function_schema(functools.partial(f, api_key="hidden")))


def test_star_arguments() -> None:
    def f(a: int, /, b: int, *more: Annotated[int, Field(ge=0)], c: int = 3, **rest: Point) -> None: ...

    parameters = function_schema(f)[2]
    assert parameters["properties"]["more"] == {"type": "array", "items": {"type": "integer", "minimum": 0}}
    assert parameters["additionalProperties"] == {"$ref": "#/$defs/Point"}
    assert parameters["required"] == ["a", "b"]
    args, kwargs = bind_arguments(f, {"a": "1", "b": 2, "more": [4, 5], "z": {"x": 1}})
    assert (args, kwargs) == ((1, 2, 4, 5), {"c": 3, "z": Point(1.0)})


def test_arguments_become_what_the_hints_say() -> None:
    def f(node: Node, colour: Colour, when: date, points: list[Point] | None = None, other: Any = object) -> None: ...

    args, kwargs = bind_arguments(f, {"node": {"value": 1}, "colour": "red", "when": "2026-11-30"})
    assert args == (Node(value=1), Colour.RED, date(2026, 11, 30), None, object)
    assert kwargs == {}


def test_wrong_arguments_are_named_with_their_places() -> None:
    def f(points: list[Point], n: int) -> None: ...

    with pytest.raises(ValueError, match=r"points\[1\]\.x: Field required\nn: Input should be") as caught:
        bind_arguments(f, {"points": [{"x": 1}, {}], "n": "many", "q": 1})
    assert "\nq: Extra inputs are not permitted" in str(caught.value)


def test_a_parameter_without_a_schema_is_named() -> None:
    def lookup(good: int, connection: Box) -> None: ...

    with pytest.raises(ConfigurationError, match=r"'lookup'.*'connection'.*Box"):
        function_schema(lookup)

    def callback(good: int, done: Callable[[], int]) -> None: ...

    with pytest.raises(ConfigurationError, match=r"'callback'.*'done'.*Callable"):
        function_schema(callback)


def test_unreadable_hints_names_and_signatures_are_named() -> None:
    def f(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ConfigurationError, match=r"'f'.*Missing"):
        function_schema(f)
    with pytest.raises(ConfigurationError, match="lambda"):
        function_schema(lambda x: x)
    with pytest.raises(ConfigurationError, match="'max'"):
        function_schema(max)


def test_the_hint_of_the_result_need_not_be_readable() -> None:
    def f(a: int) -> Missing: ...  # type: ignore[name-defined]  # noqa: F821

    assert function_schema(f)[2]["required"] == ["a"]


def test_a_default_that_json_cannot_write_is_left_out() -> None:
    missing = object()

    def f(a: int = missing) -> None: ...  # type: ignore[assignment]

    assert function_schema(f)[2] == {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert bind_arguments(f, {}) == ((missing,), {})


def test_a_docstring_that_cannot_be_parsed_is_the_description() -> None:
    def f() -> None: ...

    f.__doc__ = ":param"
    assert function_schema(f)[1] in (":param", "")


def test_made_once_and_kept_no_longer_than_the_function() -> None:
    def f(a: int) -> None: ...

    assert function_schema(f) is function_schema(f)
    box = Box()
    assert function_schema(box.put) is function_schema(box.put)
    watched = weakref.ref(f)
    del f
    gc.collect()
    assert watched() is None


def test_tools_are_made_of_them() -> None:
    class Weather(Tool):
        @activity
        def today(self, city: str) -> str:
            """Today's weather.

            Args:
                city: Where.
            """
            return city

        @activity(schema=Point)
        def at(self, values: dict[str, float]) -> str:
            """Weather at a point."""
            return str(values)

    today, at = definitions([Weather()])
    assert today.parameters == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where."}},
        "required": ["city"],
    }
    assert at.parameters == to_json_schema(Point)
    assert definitions([google])[0].parameters == function_schema(google).parameters
