"""JSON Schema (draft 2020-12) of what Python calls a type, and of what it calls a function.

The mapping from Python types to schemas is pydantic's (https://docs.pydantic.dev/latest/concepts/json_schema/) and none
of ours, so whatever pydantic can read works here: models, dataclasses, TypedDicts, enums, unions, constraints in
`Annotated`. What a dialect of an API cannot take is the business of `convert.schema`, not of this file.

pydantic and the docstring reader are imported when they are first needed: `import llmneutral` stays cheap.
"""

from __future__ import annotations

import copy
import functools
import re
import sys
import typing
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from llmneutral.errors import ConfigurationError
from llmneutral.ir.jsontext import JSONObject, not_json

if TYPE_CHECKING:
    import inspect

    from pydantic import TypeAdapter

__all__ = ["FunctionSchema", "bind_arguments", "function_schema", "schema_name", "to_json_schema", "type_adapter"]

_JSON_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_DEFAULT_NAME = "output"
_MAX_NAME = 64
_MAX_PROBLEMS = 10


class FunctionSchema(NamedTuple):
    """What a model is told of a function. It is made once per function and shared: change nothing in `parameters`."""

    name: str
    description: str
    parameters: JSONObject


class _Signature(NamedTuple):
    """A function as far as arguments are concerned."""

    schema: FunctionSchema
    adapter: TypeAdapter[Any] | None
    """Validates the arguments, given by name; None for a class, which validates them itself."""
    parameters: tuple[inspect.Parameter, ...]


# --- types ------------------------------------------------------------------------------------------------------------


def to_json_schema(kind: Any) -> JSONObject:
    """Return the JSON Schema of a type.

    Args:
        kind: A pydantic model, a dataclass, a TypedDict or any other type pydantic can read; a `TypeAdapter`; an object
            with a method `json_schema(id)` such as `schema.Schema`; or a JSON Schema, of which a copy is returned.

    Raises:
        ConfigurationError: If there is no schema for it.
    """
    if isinstance(kind, Mapping):
        return _checked_schema(kind)
    if not isinstance(kind, type):
        if callable(getattr(kind, "model_json_schema", None)):
            raise ConfigurationError(
                f"the schema is an instance of {type(kind).__name__}; give the class itself, not an instance"
            )
        if callable(getattr(kind, "json_schema", None)):
            return _schema_of_object(kind)
    try:
        return type_adapter(kind).json_schema()
    except ConfigurationError:
        raise
    except Exception as error:  # pydantic runs code of the type's own: anything may come of it
        raise ConfigurationError(
            f"there is no JSON Schema for {_type_name(kind)}: {_first_line(error)}",
            hint="Give a pydantic model, a dataclass, a TypedDict or a JSON Schema dict.",
        ) from error


def schema_name(schema: Mapping[str, Any]) -> str:
    """Return a name for a schema that every API takes: its title, as `[A-Za-z0-9_-]{1,64}`, else `output`."""
    title, ref = schema.get("title"), schema.get("$ref")
    if title is None and isinstance(ref, str):
        title = ref.rpartition("/")[2]
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", title).strip("_")[:_MAX_NAME] if isinstance(title, str) else ""
    return name or _DEFAULT_NAME


def type_adapter(kind: Any) -> TypeAdapter[Any]:
    """Return pydantic's adapter of a type: it validates values and gives the schema.

    A `typing.TypedDict` works on every Python here: pydantic itself refuses it before 3.12 and asks for the one of
    `typing_extensions` (https://errors.pydantic.dev/latest/u/typed-dict-version).

    Raises:
        pydantic.errors.PydanticUserError: If pydantic cannot read the type.
    """
    from pydantic import TypeAdapter

    return TypeAdapter(_readable_type(kind))


def _checked_schema(schema: Mapping[str, Any]) -> JSONObject:
    """A copy of a schema that was given as one; catches what is only wrapped around a schema."""
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, (list, tuple)) else [kinds]:
        if kind is not None and kind not in _JSON_TYPES:
            raise ConfigurationError(
                f"the schema has the type {kind!r}, which is none of JSON Schema's ({', '.join(_JSON_TYPES)})",
                hint="Give the JSON Schema itself, without what an API wraps around it.",
            )
    if (found := not_json(schema)) is not None:
        what, place = found
        raise ConfigurationError(
            f"the schema holds {what}, at {place}", hint="A schema is plain JSON data: give lists, texts and numbers."
        )
    return copy.deepcopy(dict(schema))


def _schema_of_object(kind: Any) -> JSONObject:
    """The schema of an object that makes it itself: a `TypeAdapter`, or a `Schema` of the package of that name."""
    from pydantic import TypeAdapter

    if isinstance(kind, TypeAdapter):
        return kind.json_schema()
    name = getattr(kind, "name", None) or _DEFAULT_NAME
    schema = dict(kind.json_schema(name))
    # Its identifier is no address, and it says draft 7 although it writes nothing that 2020-12 reads differently.
    schema.pop("$id", None)
    schema.pop("$schema", None)
    schema.setdefault("title", name)
    return schema


def _readable_type(kind: Any, inside: tuple[Any, ...] = ()) -> Any:
    """The type with every `typing.TypedDict` in it replaced by one that pydantic reads on Python 3.11."""
    if sys.version_info >= (3, 12):
        return kind
    import operator
    import types

    if isinstance(kind, type) and typing.is_typeddict(kind):
        return _readable_typed_dict(kind, inside) if type(kind).__module__ == "typing" else kind
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return typing.Annotated[(_readable_type(args[0], inside), *args[1:])]
    if not args or origin is typing.Literal:
        return kind
    changed = tuple(_readable_type(argument, inside) for argument in args)
    if changed == args:
        return kind
    if origin is types.UnionType:
        return functools.reduce(operator.or_, changed)
    return origin[changed]


def _readable_typed_dict(kind: Any, inside: tuple[Any, ...]) -> Any:
    """A copy of a `typing.TypedDict`, made with `typing_extensions`."""
    import typing_extensions

    if kind in inside:
        raise ConfigurationError(
            f"the TypedDict {kind.__name__} holds itself", hint="Take TypedDict from typing_extensions, or Python 3.12."
        )
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        # Under `from __future__ import annotations` the class itself does not know what its marked keys are.
        required = name in kind.__required_keys__
        while typing.get_origin(hint) in (typing.Required, typing.NotRequired):
            required = typing.get_origin(hint) is typing.Required
            (hint,) = typing.get_args(hint)
        marker = typing.Required if required else typing.NotRequired
        fields[name] = marker[_readable_type(hint, (*inside, kind))]
    make: Any = typing_extensions.TypedDict
    made = make(kind.__name__, fields)
    made.__doc__ = kind.__doc__
    return made


# --- functions --------------------------------------------------------------------------------------------------------


def function_schema(function: Callable[..., Any]) -> FunctionSchema:
    """Return name, description and parameters of a function, as a model is told of it.

    Types come from the hints, descriptions from `Annotated` or `Field` and else from the docstring (Google's, NumPy's
    or Sphinx's style). `self` is left out, and so is what a `functools.partial` has bound by name. `*args` is an array
    of that name; `**kwargs` allows further properties. The answer is kept for as long as the function lives.

    Args:
        function: A function, a method, a `functools.partial`, an object with `__call__`, or a class pydantic can read.

    Raises:
        ConfigurationError: If it has no name or no signature, or a parameter's type has no schema; the message names
            the function and the parameter.
    """
    return _signature_of(function).schema


def bind_arguments(function: Callable[..., Any], arguments: JSONObject) -> tuple[tuple[Any, ...], JSONObject]:
    """Turn the arguments of a call into what `function(*args, **kwargs)` takes, each as its hint says.

    Args:
        function: As in `function_schema`.
        arguments: The arguments by name, as JSON.

    Raises:
        ValueError: If they do not fit, with a line `path: problem` for each of at most ten problems.
        ConfigurationError: As in `function_schema`.
    """
    signature = _signature_of(function)
    if signature.adapter is None:
        return (), dict(arguments)
    rest = next((p.name for p in signature.parameters if p.kind is p.VAR_KEYWORD), None)
    given = dict(arguments)
    if rest is not None:
        names = {parameter.name for parameter in signature.parameters} - {rest}
        given = {name: value for name, value in arguments.items() if name in names}
        given[rest] = {name: value for name, value in arguments.items() if name not in names}
    values = _validated(signature.adapter, given)
    args: list[Any] = []
    kwargs: JSONObject = {}
    for parameter in signature.parameters:
        name, kind = parameter.name, parameter.kind
        if kind is parameter.VAR_KEYWORD:
            kwargs.update(values.get(name, {}))
        elif kind is parameter.VAR_POSITIONAL:
            args.extend(values.get(name, ()))
        elif kind is parameter.KEYWORD_ONLY:
            kwargs.update({name: values[name]} if name in values else {})
        else:
            args.append(values[name])
    return tuple(args), kwargs


def _validated(adapter: TypeAdapter[Any], arguments: JSONObject) -> JSONObject:
    """The arguments as their hints say; a ValueError lists what does not fit."""
    from pydantic import ValidationError

    try:
        return typing.cast(JSONObject, adapter.validate_python(arguments))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)[:_MAX_PROBLEMS]
        lines = [f"{_path_text(problem['loc'])}: {problem['msg']}" for problem in problems]
    raise ValueError("\n".join(lines))


def _signature_of(function: Callable[..., Any]) -> _Signature:
    """The signature, read once for as long as the function lives; a bound method is made anew at each access."""
    bound = getattr(function, "__self__", None) is not None and hasattr(function, "__func__")
    kept, key = (_BOUND, function.__func__) if bound else (_UNBOUND, function)  # type: ignore[attr-defined]
    try:
        found = kept.get(key)
    except TypeError:  # it cannot be hashed or weakly referenced
        return _read_signature(function)
    if found is None:
        found = kept[key] = _read_signature(function)
    return found


def _read_signature(function: Callable[..., Any]) -> _Signature:
    """Read a function without looking whether that was done before."""
    import inspect

    name = _function_name(function)
    if isinstance(function, type):
        schema = to_json_schema(function)
        return _Signature(FunctionSchema(name, inspect.getdoc(function) or "", schema), None, ())
    description, documented = _read_docstring(function)
    parameters = _model_parameters(function, name)
    hints = _hints_of(function, name)
    fields = {p.name: _field_of(p, hints.get(p.name, Any), documented.get(p.name)) for p in parameters}
    adapter = _adapter_of(name, fields)
    schema = _parameters_schema(adapter, name, fields)
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            further = schema["properties"].pop(parameter.name)
            schema["additionalProperties"] = further.get("additionalProperties", True)
    return _Signature(FunctionSchema(name, description, schema), adapter, parameters)


def _plain_function(function: Callable[..., Any]) -> Any:
    """What stands behind a `functools.partial`, or behind an object that is called."""
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    return target if hasattr(target, "__name__") else type(target).__call__


def _function_name(function: Callable[..., Any]) -> str:
    """The name a function goes by; of an object that is called, its class's."""
    name = str(_plain_function(function).__name__)
    if name == "<lambda>":
        raise ConfigurationError("a lambda has no name a model could call", hint="Write it as a function with def.")
    return type(function).__name__ if name == "__call__" else name


def _model_parameters(function: Callable[..., Any], name: str) -> tuple[inspect.Parameter, ...]:
    """The parameters that a model can give: not `self`, and not what a `functools.partial` has bound."""
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError as error:
        raise ConfigurationError(
            f"the function {name!r} tells nothing of its parameters", hint="Wrap it in a function of your own."
        ) from error
    if parameters and parameters[0].name in ("self", "cls") and parameters[0].annotation is inspect.Parameter.empty:
        del parameters[0]
    bound = function.keywords if isinstance(function, functools.partial) else {}
    return tuple(parameter for parameter in parameters if parameter.name not in bound)


def _hints_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """The type hints of the parameters; names in quotes are looked up where the function stands."""
    import inspect

    def stand_in() -> None:
        """What is returned is not asked for, so its hint need not be readable."""

    target = inspect.unwrap(_plain_function(function))
    try:
        hints = getattr(target, "__annotations__", {})
        stand_in.__annotations__ = {key: hint for key, hint in hints.items() if key != "return"}
        return typing.get_type_hints(stand_in, getattr(target, "__globals__", {}), include_extras=True)
    except Exception as error:  # a hint is code: anything may come of it
        raise ConfigurationError(
            f"a type hint of the function {name!r} cannot be read: {_first_line(error)}",
            hint="Import or define at module level what its hints name.",
        ) from error


def _field_of(parameter: inspect.Parameter, hint: Any, documented: str | None) -> Any:
    """A parameter as a field of a TypedDict: its hint, its description, its default."""
    import typing_extensions
    from pydantic import Field
    from pydantic.fields import FieldInfo

    metadata: list[Any] = list(getattr(hint, "__metadata__", ()))
    bare = typing.get_args(hint)[0] if metadata else hint
    required = parameter.default is parameter.empty
    if isinstance(parameter.default, FieldInfo):
        metadata.append(parameter.default)
        required = parameter.default.is_required()
    elif not required:
        metadata.append(Field(default=parameter.default))
    description = _description_of(metadata) or documented
    if description:
        metadata.append(Field(description=description))
    kept = [entry for entry in metadata if not isinstance(entry, str)]
    bare = _readable_type(bare)
    field = typing.Annotated[(bare, *kept)] if kept else bare
    if parameter.kind is parameter.VAR_POSITIONAL:
        field, required = list[field], False  # type: ignore[valid-type]  # made at run time
    elif parameter.kind is parameter.VAR_KEYWORD:
        field, required = dict[str, field], False  # type: ignore[valid-type]
    return (typing_extensions.Required if required else typing_extensions.NotRequired)[field]


def _description_of(metadata: list[Any]) -> str | None:
    """The description that stands in `Annotated`: a `Field`'s, a `Doc`'s, or a plain string."""
    for entry in metadata:
        text = entry if isinstance(entry, str) else getattr(entry, "description", getattr(entry, "documentation", None))
        if isinstance(text, str):
            return text
    return None


def _adapter_of(name: str, fields: dict[str, Any]) -> TypeAdapter[Any]:
    """The adapter of all parameters together, so that they share their definitions."""
    import typing_extensions
    from pydantic import TypeAdapter

    make: Any = typing_extensions.TypedDict

    def arguments(some: dict[str, Any]) -> TypeAdapter[Any]:
        made = make(name, some)
        made.__pydantic_config__ = {"extra": "forbid"}
        adapter: TypeAdapter[Any] = TypeAdapter(made)
        return adapter

    try:
        return arguments(fields)
    except Exception as error:
        for parameter, field in fields.items():
            try:
                arguments({parameter: field})
            except Exception as cause:
                raise _no_schema(name, parameter, field, cause) from cause
        raise _no_schema(name, ", ".join(fields), None, error) from error


def _parameters_schema(adapter: TypeAdapter[Any], name: str, fields: dict[str, Any]) -> JSONObject:
    """The schema of all parameters, without the titles that only repeat their names."""
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        ignored_warning_kinds: Any = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # as in the base

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    try:
        schema = adapter.json_schema(schema_generator=Untitled)
    except Exception as error:
        for parameter, field in fields.items():
            try:
                _adapter_of(name, {parameter: field}).json_schema(schema_generator=Untitled)
            except Exception as cause:
                raise _no_schema(name, parameter, field, cause) from cause
        raise _no_schema(name, ", ".join(fields), None, error) from error
    found = {"type": "object", "properties": schema.get("properties", {})}
    return found | {key: schema[key] for key in ("required", "$defs") if key in schema}


def _no_schema(function: str, parameter: str, hint: Any, error: Exception) -> ConfigurationError:
    """The one error of a parameter whose type pydantic cannot read or describe."""
    while typing.get_origin(hint) is not None and typing.get_args(hint):
        hint = typing.get_args(hint)[0]
    what = f"parameter {parameter!r} has the type {_type_name(hint)}" if hint is not None else f"parameters {parameter}"
    return ConfigurationError(
        f"the function {function!r} cannot be offered as a tool: {what}, for which there is no JSON Schema "
        f"({_first_line(error)})",
        hint="Give it a type that JSON can carry, or bind it with functools.partial.",
    )


def _read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What a docstring says of the function, and of each parameter."""
    import inspect

    import docstring_parser

    text = inspect.getdoc(_plain_function(function)) or ""
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text, {}
    documented: dict[str, str] = {}
    for entry in parsed.params:
        for name in entry.arg_name.split(","):
            documented.setdefault(name.strip().lstrip("\\*"), " ".join((entry.description or "").split()))
    return (parsed.description or "").strip(), documented


# --- small things -----------------------------------------------------------------------------------------------------


def _type_name(kind: Any) -> str:
    """A type as it is written in code."""
    return str(getattr(kind, "__qualname__", None) or kind).replace("typing.", "")


def _first_line(error: Exception) -> str:
    """What an error says, without its advice and links."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _path_text(path: tuple[str | int, ...]) -> str:
    """A place in a value, written `items[3].price`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "arguments"


_BOUND: weakref.WeakKeyDictionary[Any, _Signature] = weakref.WeakKeyDictionary()
_UNBOUND: weakref.WeakKeyDictionary[Any, _Signature] = weakref.WeakKeyDictionary()
