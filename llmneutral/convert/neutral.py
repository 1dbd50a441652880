"""Answers that are neutral already, of drivers that make their own: read by the same reader as a provider's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmneutral.convert.stream import Delta, Reader, StreamNormalizer
from llmneutral.errors.wording import a_kind
from llmneutral.ir import contents as c
from llmneutral.ir import deltas as d
from llmneutral.ir.responses import Usage

if TYPE_CHECKING:
    from llmneutral.convert.react.reading import Form


def read_delta(delta: Delta, reader: Reader) -> None:
    """A chunk that is a delta of ours: of a driver that makes its own."""
    if not isinstance(delta, Delta):
        why = f"the stream held {a_kind(delta)}; try_stream has to yield DeltaMessages"
        reader.error("malformed_response", why, type="malformed_response")
        return
    kind, content = delta.kind, delta.content
    if kind == "start":
        reader.start(delta.id, delta.model)
    elif kind == "usage" and delta.usage is not None:
        reader.usage({"usage": delta.usage}, replace=True)
    elif kind == "finish":
        reader.finish(delta.raw_finish_reason, reason=delta.finish_reason, details=delta.details)
    elif kind == "error":
        reader.error_info = delta.error
        reader.out.append(delta)
    elif kind == "end":
        reader.terminated = delta.complete is not False
    elif isinstance(content, d.DoneDeltaMessageContent):
        reader.done(content.index) if content.value is None else reader.block(content.index, content.value)
    elif content is not None:
        reader.grow(content.index, kind, content)


def read_message(message: Any, reader: Reader) -> None:
    """A whole answer that is a message of ours."""
    reader.start()
    for index, content in enumerate(message.content):
        if type(content) is c.TextMessageContent and content == c.TextMessageContent(content.text):
            reader.text(index, content.text)  # a stream that comes whole has its text in deltas all the same
        else:
            reader.block(index, content)
    reader.terminate()


def neutral_normalizer(react: Form | None = None) -> StreamNormalizer:
    """Returns a normaliser for deltas and messages that are neutral already."""
    made: Any = {"chunk": read_delta, "read": read_message, "usage": lambda raw: raw.get("usage") or Usage()}
    return StreamNormalizer("neutral", finish={}, react=react, **made)
