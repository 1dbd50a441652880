"""Any artifact → contents of a message: one open table.

`contents_of` is dispatched by the type of what is given; register a further type with
`@contents_of.register`. What no row names becomes text. The rows are those of Griptape's
`PromptStack`: an action forks on its output, a list is flattened.
"""

from __future__ import annotations

import mimetypes
from typing import Any

from llmneutral.ir import artifacts as art
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    AudioMessageContent,
    BaseMessageContent,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    Origin,
    TextMessageContent,
)
from llmneutral.ir.reduction import contents_of
from llmneutral.ir.tools import ToolAction

Contents = tuple[BaseMessageContent, ...]


@contents_of.register(object)
def _(artifact: Any) -> Contents:
    return (TextMessageContent(art.text_of(artifact)),)


@contents_of.register
def _(artifact: BaseMessageContent) -> Contents:
    return (artifact,)


@contents_of.register
def _(artifact: bytes) -> Contents:
    raise TypeError("bytes have no media type: wrap them in an ImageArtifact, AudioArtifact or BlobArtifact")


@contents_of.register
def _(artifact: art.ImageArtifact | art.ImageUrlArtifact) -> Contents:
    return (ImageMessageContent(**art.media_of(artifact)),)


@contents_of.register
def _(artifact: art.AudioArtifact) -> Contents:
    return (AudioMessageContent(**art.media_of(artifact)),)


@contents_of.register
def _(artifact: art.DocumentArtifact) -> Contents:
    return (DocumentMessageContent(**art.media_of(artifact)),)


@contents_of.register
def _(artifact: art.BlobArtifact) -> Contents:
    fields = art.media_of(artifact)
    family = (artifact.media_type or mimetypes.guess_type(artifact.name or "")[0] or "").partition("/")[0]
    if family in ("image", "audio"):
        fields.pop("name", None)
        return (ImageMessageContent(**fields) if family == "image" else AudioMessageContent(**fields),)
    return (DocumentMessageContent(**fields),)


@contents_of.register
def _(artifact: art.GenericArtifact) -> Contents:
    origin = None if artifact.api is None else Origin(artifact.api)
    return (GenericMessageContent(artifact.value, origin=origin),)


@contents_of.register
def _(artifact: art.ActionArtifact) -> Contents:
    action = artifact.value
    if action.output is None:
        return (ActionCallMessageContent(action.tag, action.name, action.path, action.input),)
    return (result_of(action.output, action),)


@contents_of.register(list | tuple)
def _(artifact: list[Any] | tuple[Any, ...]) -> Contents:
    return tuple([content for member in artifact for content in contents_of(member)])


@contents_of.register
def _(artifact: art.ListArtifact) -> Contents:
    return tuple([content for member in artifact.value for content in contents_of(member)])


def result_of(output: Any, action: ToolAction) -> ActionResultMessageContent:
    """Returns the result block for what a tool gave back: text and data as they are, artifacts as blocks."""
    return ActionResultMessageContent(action.tag, output, name=action.name, path=action.path)
