"""What a run of an agent came to."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from llmneutral.ir import artifacts as art
from llmneutral.ir.contents import AudioMessageContent, ImageMessageContent
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import FinishReason, NormalizedResponse, Usage
from llmneutral.ir.tools import ToolAction

LONGEST_SHOWN = 60


class AgentResult(msgspec.Struct, frozen=True):
    """What a run came to, or has come to so far.

    Attributes:
        response: The last answer of the model; None where there was none.
        messages: What the run added to the conversation: the input, every turn, every result.
        calls: Every call, with what its tool gave back as `output`: an `ErrorArtifact` where it failed or was not run,
            None where it still waits for its result.
        steps: Answers of the model.
        usage: Tokens of all of them; a count that only some told is marked `partial`.
        open_calls: Calls of tools that have no function here: run them yourself, and give the results to the next run.
        run_id: What the events of the run carry.
        driver: Class name of the driver.
        model: The model that was asked for.
    """

    response: NormalizedResponse | None = None
    messages: tuple[Message, ...] = ()
    calls: tuple[ToolAction, ...] = ()
    steps: int = 0
    usage: Usage = Usage()
    open_calls: tuple[ToolAction, ...] = ()
    run_id: str | None = None
    driver: str | None = None
    model: str | None = None

    @property
    def text(self) -> str:
        """The text of the last answer; "" where it has none."""
        return "" if self.response is None else self.response.text

    @property
    def parsed(self) -> Any:
        """The validated value where an output schema was asked for, else None."""
        return None if self.response is None else self.response.parsed

    @property
    def output(self) -> art.BaseArtifact | None:
        """The answer as an artifact: the value that was asked for, the text, or a list where media came with it."""
        if self.response is None:
            return None
        if self.parsed is not None:
            return art.JsonArtifact(self.parsed)
        media = [_media(block) for block in self.response.message.content if _is_media(block)]
        if media:
            return art.ListArtifact([*([art.TextArtifact(self.text)] if self.text else []), *media])
        refusal = self.response.refusal
        if refusal is not None and not self.text:
            return art.ErrorArtifact(refusal["text"] or "the model refused")
        return art.TextArtifact(self.text)

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the last answer ended."""
        return None if self.response is None else self.response.finish_reason

    def to_text(self) -> str:
        """Returns the answer as text: so an agent's result can be put into a prompt, or be the result of a tool."""
        output = self.output
        return "" if output is None else output.to_text()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        """Shows the beginning of the answer, and counts."""
        text = self.to_text()
        shown = repr(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…")
        counts = [_counted(self.steps, "step"), _counted(len(self.calls), "call")]
        if self.open_calls:
            counts.append(f"{len(self.open_calls)} open")
        total = self.usage.total
        counts.append("tokens unknown" if total is None else f"{'≥ ' if self.usage.partial else ''}{total} tokens")
        return f"AgentResult({shown}, {', '.join(counts)})"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _is_media(block: Any) -> bool:
    return isinstance(block, ImageMessageContent | AudioMessageContent) and bool(block.data or getattr(block, "url", 0))


def _media(block: Any) -> art.BaseArtifact:
    if block.data is None:
        return art.ImageUrlArtifact(block.url)
    data = base64.b64decode(block.data)
    if isinstance(block, ImageMessageContent):
        return art.ImageArtifact(data, block.media_type or "png")
    return art.AudioArtifact(data, block.media_type or "wav")
