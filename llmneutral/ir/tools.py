"""Tools, as a model is told of them, and what a model asks of one.

A `ToolAction` is one request to run a tool, with its output once it has run. A `ToolDefinition` is
what goes to a provider: name, description, JSON Schema. Functions, `Tool` classes with `@activity`
methods and OpenAI-format dicts all become definitions by `definitions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

import msgspec

from llmneutral.errors import ConfigurationError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.jsontext import JSONObject, dumps

F = TypeVar("F", bound=Callable[..., Any])


class ToolAction(msgspec.Struct, frozen=True):
    """One request to run a tool.

    Attributes:
        tag: Id of the request, unique in its conversation.
        name: Name of the tool.
        path: Activity of the tool, where it has several.
        input: The arguments.
        output: What the tool gave back; None until it has run.
    """

    tag: str
    name: str
    path: str | None = None
    input: Any = msgspec.field(default_factory=dict)
    output: Any = None

    def to_native_tool_name(self) -> str:
        """Returns the one flat name that providers take: `name`, or `name_path`."""
        return native_name(self.name, self.path)

    @classmethod
    def from_native_tool_name(
        cls, native_tool_name: str, names: Mapping[str, tuple[str, str | None]] | None = None
    ) -> tuple[str, str | None]:
        """Returns name and path of a flat name.

        With a table (`Conversion.names`) the name is looked up, and an unknown one stays as it is. Without
        one it is split at the first underscore, which misreads names that hold underscores: the library
        always passes the table.
        """
        if names is not None:
            return names.get(native_tool_name, (native_tool_name, None))
        name, _, path = native_tool_name.partition("_")
        return name, path or None

    def to_text(self) -> str:
        """Returns the request as it would be written in code."""
        return f"{self.to_native_tool_name()}({dumps(self.input)})"


class ToolDefinition(msgspec.Struct, frozen=True):
    """A tool as a provider is told of it.

    Attributes:
        name: Name of the tool.
        path: Activity of the tool, where it has several.
        description: What it does; None if nothing was said, which is not the same as an empty text.
        parameters: JSON Schema of the arguments; None if it takes none.
        strict: Whether the provider shall hold the model to the schema; None leaves it open.
        cache: A cache breakpoint after this tool: True, or a lifetime.
        native: A provider's own tool (web search …) as that API takes it; the other fields are then only a name.
        extra: Further keys of a function in OpenAI's form (`defer_loading` …), for the API that knows them.
        function: What to call; it never leaves the process.
    """

    name: str
    path: str | None = None
    description: str | None = None
    parameters: JSONObject | None = None
    strict: bool | None = None
    cache: bool | str | None = None
    native: JSONObject | None = None
    function: Callable[..., Any] | None = None
    extra: JSONObject | None = None

    @property
    def native_name(self) -> str:
        """The flat name it proposes to providers."""
        return native_name(self.name, self.path)

    def to_openai(self) -> JSONObject:
        """Returns the tool in OpenAI's format."""
        if self.native is not None:
            return self.native
        function: JSONObject = {"name": self.native_name}
        if self.description is not None:
            function["description"] = self.description
        if self.parameters is not None:
            function["parameters"] = self.parameters
        if self.strict is not None:
            function["strict"] = self.strict
        tool: JSONObject = {"type": "function", "function": function, **(self.extra or {})}
        return tool if self.cache is None else {**tool, "cache": self.cache}


class Tool:
    """Base of a tool with activities: its methods marked `@activity` are what a model can call.

    Attributes:
        name: Name of the tool; the class's name unless given.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__

    def activities(self) -> dict[str, Callable[..., Any]]:
        """Returns the activities by name, in the order of their definition."""
        found = {}
        for base in reversed(type(self).__mro__):
            for name, member in vars(base).items():
                if hasattr(member, "_llmneutral_activity"):
                    found[name] = getattr(self, name)
        return found

    def definitions(self) -> list[ToolDefinition]:
        """Returns one definition per activity."""
        return [_of_activity(self.name, path, method) for path, method in self.activities().items()]


@overload
def activity(function: F) -> F: ...
@overload
def activity(
    *, description: str | None = None, schema: Any = None, config: Mapping[str, Any] | None = None
) -> Callable[[F], F]: ...
def activity(
    function: F | None = None,
    *,
    description: str | None = None,
    schema: Any = None,
    config: Mapping[str, Any] | None = None,
) -> Any:
    """Marks a method of a `Tool` as callable by a model.

    Args:
        function: The method, where the decorator is used without arguments.
        description: What it does; its docstring unless given.
        schema: Schema of its input (any kind that `to_json_schema` takes); made from the signature unless given.
        config: Both of them as Griptape has them. As there, a method with a schema may take its whole input as one
            argument: `values`, or `params` with the input under the key `values`.
    """
    said = {"description": description, "schema": schema, **(config or {})}

    def mark(method: F) -> F:
        vars(method)["_llmneutral_activity"] = dict(said)
        return method

    return mark if function is None else mark(function)


def native_name(name: str, path: str | None) -> str:
    """Returns the flat name of a tool and its activity."""
    return name if path is None else f"{name}_{path}"


def definitions(tools: Iterable[Any] | None) -> tuple[ToolDefinition, ...]:
    """Turns functions, `Tool` objects, OpenAI-format dicts and definitions into definitions.

    Raises:
        ConfigurationError: If one of them is none of these, naming its place.
    """
    if isinstance(tools, str | bytes | Mapping | Tool) or (tools is not None and not isinstance(tools, Iterable)):
        raise ConfigurationError(f"tools is {a_kind(tools)}; give a list of functions, Tool objects or dicts")
    found: list[ToolDefinition] = []
    for place, tool in enumerate(tools or ()):
        found += _definitions_of(tool, place)
    return tuple(found)


def _definitions_of(tool: Any, place: int) -> list[ToolDefinition]:
    if isinstance(tool, ToolDefinition):
        return [tool]
    if isinstance(tool, Tool):
        return tool.definitions()
    if isinstance(tool, Mapping):
        return [_of_dict(tool, place)]
    if isinstance(tool, type) and issubclass(tool, Tool):
        return tool().definitions()
    if callable(tool):
        return [_of_function(tool)]
    raise ConfigurationError(f"tools[{place}] is {a_kind(tool)}; give a function, a Tool, or a dict in OpenAI's format")


def _of_dict(tool: Mapping[str, Any], place: int) -> ToolDefinition:
    """Reads OpenAI's nested form, its flat form, and a provider's own tool (any other `type`)."""
    kind = tool.get("type", "function")
    if kind != "function":
        inner = tool.get(kind)  # OpenAI's custom tools have their name in an object of their kind
        named = tool.get("name") or (inner.get("name") if isinstance(inner, Mapping) else None)
        return ToolDefinition(str(named or kind), native=dict(tool))
    function = tool.get("function", tool)
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(
            f"tools[{place}] has no function name; give {{'type': 'function', 'function': {{'name': …}}}}"
        )
    return ToolDefinition(
        name,
        description=function.get("description"),
        parameters=function.get("parameters"),
        strict=function.get("strict"),
        cache=tool.get("cache"),
        extra={key: value for key, value in tool.items() if key not in _KNOWN} or None,
    )


_KNOWN = frozenset({"type", "function", "name", "description", "parameters", "strict", "cache"})


def _of_function(function: Callable[..., Any]) -> ToolDefinition:
    from llmneutral.ir.schemas import function_schema

    name, description, parameters = function_schema(function)
    return ToolDefinition(name, description=description or None, parameters=parameters, function=function)


def _of_activity(tool: str, path: str, method: Callable[..., Any]) -> ToolDefinition:
    from llmneutral.ir.schemas import function_schema, to_json_schema

    said = method._llmneutral_activity  # type: ignore[attr-defined]  # set by the decorator
    _, description, parameters = function_schema(method)
    if said["schema"] is not None:
        if "parameters" not in said:  # made once, as that of the signature
            said["parameters"] = to_json_schema(said["schema"])
        parameters = said["parameters"]
    return ToolDefinition(tool, path, said["description"] or description or None, parameters, function=method)
