"""What a tool gave back, as the result that a model reads: any value has a form, and none ends a run.

Text stays text, nothing is "", data become plain data (a snapshot: what the tool changes later is not seen), artifacts
and whatever has a row of its own in the table of reductions become blocks, everything else becomes its text.
"""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any

from llmneutral.convert import feedback
from llmneutral.ir.artifacts import BaseArtifact
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    AudioMessageContent,
    BaseMessageContent,
    DocumentMessageContent,
    ImageMessageContent,
    TextMessageContent,
    holds_blocks,
    output_of,
)
from llmneutral.ir.jsontext import plain_data
from llmneutral.ir.reduction import contents_of
from llmneutral.ir.responses import NormalizedResponse

BYTES = "the tool's result holds bytes; let it return text, or an ImageArtifact, AudioArtifact or BlobArtifact"
SHOWN = (TextMessageContent, ImageMessageContent, AudioMessageContent, DocumentMessageContent)
"""Blocks that a result can hold; of any other kind it holds the text."""
SEVERAL = (range, KeysView, ValuesView, ItemsView)
"""What is a list as far as a model is concerned."""


def result_of(call: Any, value: Any) -> ActionResultMessageContent:
    """Returns the result of a call for what its tool gave back; what cannot be carried becomes an error result.

    The name of the tool stands with the call: most APIs have no place for it here.

    Args:
        call: The call, valid or invalid.
        value: Anything.
    """
    try:
        output, parts, is_error = _reduced(value)
    except Exception as error:  # noqa: BLE001  # a value's own code runs here (`to_text`, `model_dump`): anything may come
        holds_bytes = isinstance(error, TypeError) and "bytes" in str(error)
        return error_result(call, feedback.raised(TypeError(BYTES) if holds_bytes else error))
    return ActionResultMessageContent(call.tag, output, parts, is_error=is_error)


def error_result(call: Any, text: str) -> ActionResultMessageContent:
    """Returns the result of a call that was not run, or whose tool failed."""
    return ActionResultMessageContent(call.tag, text, is_error=True)


def output_shown(result: ActionResultMessageContent) -> Any:
    """Returns what a result holds, as an event shows it: text or plain data; blocks by their texts."""
    return result.to_text() if result.parts is not None else result.output


def _reduced(value: Any) -> tuple[Any, tuple[Any, ...] | None, bool]:
    """Data, blocks, and whether it is an error."""
    if isinstance(value, NormalizedResponse):  # a tool that asks a model
        value = value.text
    elif isinstance(value, SEVERAL):
        value = list(value)
    is_error = False
    parts: tuple[Any, ...] | None = None
    if isinstance(value, BaseArtifact | BaseMessageContent) or holds_blocks(value):
        value, parts, is_error = output_of(value)
    elif _has_row(value):
        value, parts = None, contents_of(value)
    if parts:
        return None, tuple([_shown(part) for part in parts]), is_error
    return "" if value is None else plain_data(value), None, is_error


def _has_row(value: Any) -> bool:
    """Whether a type has a row of its own in the table of reductions: not that of any object, list or bytes."""
    row = contents_of.dispatch(type(value))
    return all([row is not contents_of.dispatch(common) for common in (object, list, bytes)])


def _shown(part: Any) -> Any:
    return part if isinstance(part, SHOWN) else TextMessageContent(part.to_text())
