"""The requests of the SDKs that describe them by TypedDicts, models or a signature: five of the seven APIs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_type_hints

import msgspec

from llmneutral.validation.annotations import AnnotationReader
from llmneutral.validation.problems import Findings
from llmneutral.validation.records import Fields, Record
from llmneutral.validation.shapes import Anything, Array, Best, Choices, Number, Scalar, Shape, Text
from llmneutral.validation.shapes import Mapping as MappingShape

_EXTRA: Mapping[str, Shape] = {"extra_body": MappingShape(Anything())}
"""Merged into the body by the SDK: the types say nothing about what it holds."""
_SAMPLING: Mapping[str, Shape] = {"temperature": Number(), "top_p": Number(), "top_k": Number(integer=True)}
"""Fields of Messages up to version 2023-06-01 (https://platform.claude.com/docs/en/api/versioning). The SDK speaks a
newer one and sends them by `extra_body`; in the body, which does not tell its version, they are right."""
_HOSTED: Mapping[str, Shape] = {"anthropic_version": Text()}
"""Names the version in the body where Messages is spoken by Vertex or Bedrock; there the address names the model."""


class Read(msgspec.Struct, frozen=True):
    """What was read of an SDK.

    Attributes:
        call: The keyword arguments of its call.
        body: The JSON body.
        mark: The key that only keyword arguments have.
        reader: What read them.
        imitated: The keyword arguments where the API is spoken by others than its maker; None: the same ones.
        makers: The endpoints that are the maker's.
    """

    call: Shape
    body: Shape
    mark: str
    reader: AnnotationReader
    imitated: Shape | None = None
    makers: tuple[str, ...] = ()


def chat_completions() -> Read:
    """Source: `openai.types.chat.completion_create_params`."""
    from openai.types.chat import completion_create_params as params

    reader = AnnotationReader()
    classes = (params.CompletionCreateParamsNonStreaming, params.CompletionCreateParamsStreaming)
    imitated = _streamed(AnnotationReader(more=_imitators()), *classes, _EXTRA)
    return Read(
        _streamed(reader, *classes, _EXTRA),
        _streamed(reader, *classes, {}),
        "extra_body",
        reader,
        imitated,
        ("openai", "azure", "codex"),
    )


def _imitators() -> Mapping[type, Mapping[str, Shape]]:
    """What other providers have added inside messages, where an `extra_body` does not reach.

    Sources: https://api-docs.deepseek.com/guides/thinking_mode (reasoning_content), /guides/chat_prefix_completion
    (prefix); https://platform.moonshot.ai/docs/api/chat (partial); https://openrouter.ai/docs/use-cases/reasoning-tokens
    (reasoning, reasoning_details), /docs/features/prompt-caching (cache_control);
    https://ai.google.dev/gemini-api/docs/openai (extra_content).
    """
    from openai.types import chat
    from openai.types.chat import chat_completion_content_part_param as parts

    answer: dict[str, Shape] = {
        "reasoning_content": Text(),
        "reasoning": Text(),
        "reasoning_details": Array(MappingShape(Anything())),
        "partial": Scalar("boolean"),
        "prefix": Scalar("boolean"),
    }
    mark = Fields(shapes={"type": Choices(["ephemeral"]), "ttl": Choices(["5m", "1h"])}, required=frozenset(["type"]))
    marked = {"cache_control": Record(lambda: mark)}
    return {
        chat.ChatCompletionAssistantMessageParam: answer,
        chat.ChatCompletionMessageFunctionToolCallParam: {"extra_content": MappingShape(Anything())},
        chat.ChatCompletionContentPartTextParam: marked,
        chat.ChatCompletionContentPartImageParam: marked,
        chat.ChatCompletionContentPartInputAudioParam: marked,
        parts.File: marked,
    }


def codex_responses() -> Read:
    """Source: `openai.types.responses.response_create_params`."""
    from openai.types.responses import response_create_params as params

    reader = AnnotationReader()
    classes = (params.ResponseCreateParamsNonStreaming, params.ResponseCreateParamsStreaming)
    return Read(_streamed(reader, *classes, _EXTRA), _streamed(reader, *classes, {}), "extra_body", reader)


def anthropic_messages() -> Read:
    """Source: `anthropic.types.message_create_params`, and its twin in `beta`.

    A payload says nothing of the header that switches a beta on, so what the beta's types allow is allowed.
    """
    from anthropic.types import message_create_params as params
    from anthropic.types.beta import message_create_params as beta

    reader = AnnotationReader()

    def read(more: Mapping[str, Shape], *without: str) -> Shape:
        found = [
            _streamed(reader, given.MessageCreateParamsNonStreaming, given.MessageCreateParamsStreaming, more, without)
            for given in (params, beta)
        ]
        return Best(found)

    header = "betas"  # that is where the SDK sends it
    hosted = read({**_SAMPLING, **_HOSTED}, header, "model")
    body = _Depends(lambda value: "anthropic_version" in value, hosted, read(_SAMPLING, header))
    return Read(read(_EXTRA, header), body, "extra_body", reader)


def cohere_chat() -> Read:
    """Source: the signature of `cohere.v2.client.V2Client.chat`; in the body, `stream` tells its two methods apart."""
    from cohere.v2.client import V2Client

    reader = AnnotationReader()
    hints = get_type_hints(V2Client.chat, include_extras=True)
    keywords = [p for p in inspect.signature(V2Client.chat).parameters.values() if p.name != "self"]
    shapes = {p.name: reader.shape(hints[p.name]) for p in keywords}
    required = frozenset([p.name for p in keywords if p.default is p.empty])
    beside = "request_options"
    sent = {key: shape for key, shape in shapes.items() if key != beside} | {"stream": Scalar("boolean")}
    call, body = [Fields(shapes=keys, required=required) for keys in (shapes, sent)]
    return Read(Record(lambda: call), Record(lambda: body), beside, reader)


def mistral_chat() -> Read:
    """Source: `mistralai.client.models.ChatCompletionRequest` and its twin for streams."""
    from mistralai.client import models

    reader = AnnotationReader()
    shape = _streamed(reader, models.ChatCompletionRequest, models.ChatCompletionStreamRequest, {})
    return Read(shape, shape, "", reader)


class _Depends:
    """A request that is one of two kinds, which one key tells.

    Args:
        asks: Whether it is the first one.
        then: The first one.
        otherwise: The other one.
    """

    kinds = frozenset(["object"])

    def __init__(self, asks: Callable[[dict[str, Any]], bool], then: Shape, otherwise: Shape) -> None:
        self.asks = asks
        self.then = then
        self.otherwise = otherwise

    def check(self, value: Any) -> Findings:
        """Asks the kind it is."""
        return (self.then if self.asks(value) else self.otherwise).check(value)


def _streamed(
    reader: AnnotationReader, whole: Any, streamed: Any, more: Mapping[str, Shape], without: Collection[str] = ()
) -> Shape:
    """A request with one class for whole answers and one for streams."""
    once, often = [_with(reader.record(cls), more, without) for cls in (whole, streamed)]
    return _Depends(lambda value: value.get("stream") is True, often, once)


def _with(record: Record, more: Mapping[str, Shape], without: Collection[str]) -> Record:
    """A request with some keys more, and without others."""

    def build() -> Fields:
        shapes = {key: shape for key, shape in record.fields.shapes.items() if key not in without}
        required = record.fields.required.difference(without)
        return msgspec.structs.replace(record.fields, shapes={**shapes, **more}, required=required)

    return Record(build)
