"""generateContent, held against the models of `google-genai`: the keyword arguments, and the body of REST.

What the models leave open and the API does not: the roles, and that a part holds exactly one piece of data
(https://ai.google.dev/api/caching#Content and #Part). Keyword arguments go at last through the SDK's own
converter, which knows the fields a backend lacks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec

from llmneutral.validation.annotations import AnnotationReader
from llmneutral.validation.problems import NOTHING, Findings, Loc, shown
from llmneutral.validation.records import Fields, Record, either, exactly_one
from llmneutral.validation.shapes import Array, Base64, RawBytes, Scalar, Shape, Text, one


def camel(name: str) -> str:
    """Returns a name in the spelling of REST."""
    first, *rest = name.split("_")
    return first + "".join([word.title() for word in rest])


_ROLES = ("user", "model", "function")
"""The third is older and still taken."""
_DATA = (
    "text inline_data file_data function_call function_response executable_code code_execution_result tool_call"
    " tool_response audio_transcription"
).split()
"""Fields of a part that are its data; the others say something about it."""
_BESIDE = (
    "system_instruction safety_settings tools tool_config cached_content labels service_tier continuation_token store"
    " model_armor_config generation_output_config"
).split()
"""Fields of the SDK's config that stand beside `generationConfig` in the body, not in it."""
_RENAMED = {"generation_output_config": "outputConfig"}
"""Fields of the SDK's config that have another name in the body."""
_TOP = frozenset([*_BESIDE, *map(camel, _BESIDE)])
_FREE = frozenset(
    (
        "args labels parameters_json_schema parametersJsonSchema part_metadata partMetadata response"
        " response_json_schema responseJsonSchema response_schema responseSchema"
    ).split()
)
"""Fields whose keys are the caller's own."""
_MERGED = ("config", "http_options", "extra_body")
"""Where the SDK takes keys that it merges into the body."""
_NEVER_SENT = "http_options should_return_http_response automatic_function_calling automatic_continuation".split()
"""Fields of the SDK's config that steer the SDK itself."""


def reader_of(data: Shape) -> AnnotationReader:
    """Returns a reader of the SDK's models.

    Args:
        data: What stands for bytes.
    """
    from google.genai import types

    spelled = [{*names, *map(camel, names)} for names in (_DATA, types.Part.model_fields)]
    one_piece = exactly_one(frozenset(spelled[0]), "piece of data", beside=frozenset(spelled[1]))
    return AnnotationReader(
        data=data,
        rules={types.Part: [one_piece]},
        fields={types.GenerateContentConfig: {"tools": list[types.Tool] | None}},
    )


def call() -> tuple[Shape, AnnotationReader]:
    """Returns the shape of the keyword arguments of `models.generate_content`: contents may be written short."""
    from google.genai import types

    reader = reader_of(RawBytes())
    content = _turn(reader.record(types.Content))
    part, file = reader.record(types.Part), reader.record(types.File)
    parts = Array(either([part, file, Text()]))
    shapes = {
        "model": Text(),
        "contents": either([content, part, file, Text(), Array(either([content, part, file, Text(), parts]))]),
        "config": _or_null(reader.record(types.GenerateContentConfig)),
    }
    return Record(lambda: Fields(shapes=shapes, required=frozenset(["model", "contents"]))), reader


def body() -> tuple[Shape, AnnotationReader]:
    """Returns the shape of the body of REST; a single content may stand for a list of one."""
    from google.genai import types

    reader = reader_of(Base64())
    config = reader.record(types.GenerateContentConfig)
    content = reader.record(types.Content)

    def generation() -> Fields:
        given = _both_spellings(config, lambda name: name not in _BESIDE and name not in _NEVER_SENT)
        return Fields(shapes=given | _spelled("response_schema", _or_null(reader.record(types.Schema))))

    def whole() -> Fields:
        shapes = _both_spellings(config, lambda name: name in _BESIDE and name not in _RENAMED)
        shapes |= {wire: config.fields.shapes[name] for name, wire in _RENAMED.items()}
        shapes |= _spelled("generation_config", _or_null(Record(generation)))
        shapes |= _spelled("system_instruction", _or_null(content))
        turn = _turn(content)
        return Fields(
            shapes={"contents": either([Array(turn), turn]), "model": Text(), **shapes},
            required=frozenset(["contents"]),
        )

    return Record(whole), reader


def is_call(payload: dict[str, Any]) -> bool:
    """Returns whether a payload is written as keyword arguments: the body has its settings elsewhere."""
    if "config" in payload:
        return True
    return "model" in payload and not payload.keys() & (_TOP | {"generation_config", "generationConfig"})


def in_body(loc: Loc) -> Loc:
    """Returns where a place of the keyword arguments stands in the body."""
    if loc[:3] == _MERGED:
        return loc[3:]
    if loc[:1] == ("config",) and len(loc) > 1:
        key, *rest = loc[1:]
        loc = (_RENAMED.get(str(key), key), *rest) if key in _TOP else ("generationConfig", key, *rest)
    spelled: list[str | int] = []
    for n, key in enumerate(loc):
        if key in _FREE:
            return (*spelled, camel(str(key)), *loc[n + 1 :])
        spelled.append(camel(key) if isinstance(key, str) else key)
    return tuple(spelled)


# ----------------------------------------------------------------------------------------------------------------------
# What the models leave open


def _turn(content: Record) -> Record:
    """A content of the conversation: it has a role. That of a system instruction is not looked at."""
    return Record(lambda: msgspec.structs.replace(content.fields, rules=(*content.fields.rules, _role)))


def _role(content: dict[str, Any]) -> Findings:
    role = content.get("role")
    if role is None or role in _ROLES or not isinstance(role, str):
        return NOTHING
    return [(("role",), f"must be 'user' or 'model', not {shown(role)}")]


def as_sent(payload: dict[str, Any], endpoint: str | None) -> Findings:
    """Asks the SDK to make the body of keyword arguments that its models allow.

    Args:
        payload: The keyword arguments.
        endpoint: Where they go; None: only what neither of the two backends has is a problem.
    """
    backends = {None: ("mldev", "vertex"), "vertex": ("vertex",)}.get(endpoint, ("mldev",))
    refused: list[str] = []
    for backend in backends:
        if not (refusal := _refusal(payload, backend)):
            return NOTHING
        refused.append(refusal)
    return one(refused[0])


def _refusal(payload: dict[str, Any], backend: str) -> str:
    """What the SDK says against a payload for one of its two backends; nothing if it says nothing."""
    from google.genai import models, types

    convert = getattr(models, f"_GenerateContentParameters_to_{backend}", None)
    parameters = getattr(types, "_GenerateContentParameters", None)
    if convert is None or parameters is None:  # another version of the SDK: the models have spoken
        return ""
    client = SimpleNamespace(vertexai=backend == "vertex", project="p", location="l")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read = parameters(**payload)
            convert(client, read, None, read)
        except (ValueError, TypeError, AttributeError) as error:
            if getattr(error, "obj", None) is client:  # it asks the client for more than our stand-in has
                return ""
            return f"is refused by the SDK: {str(error).splitlines()[0]}"
    return ""


# ----------------------------------------------------------------------------------------------------------------------
# Spellings


def _both_spellings(config: Record, wanted: Callable[[str], bool]) -> dict[str, Shape]:
    """The fields of the config with wanted names, each under both spellings."""
    fields = config.fields
    names = fields.shapes.keys() - {*fields.spellings.values()}
    found: dict[str, Shape] = {}
    for name in names:
        if wanted(name):
            found |= {name: fields.shapes[name], fields.spellings.get(name, name): fields.shapes[name]}
    return found


def _or_null(shape: Shape) -> Shape:
    return either([shape, Scalar("null")])


def _spelled(name: str, shape: Shape) -> dict[str, Shape]:
    return {name: shape, camel(name): shape}
