"""A conversation with its calls and results as text, in the form the model is told: Thought, Actions, Observations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from llmneutral.convert.calls import arguments_text, written
from llmneutral.convert.feedback import is_unread
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.names import CALLS, ToolNames
from llmneutral.convert.pairing import keys, pair_results
from llmneutral.convert.passes import keep_screenshots, with_content
from llmneutral.convert.react.actions import Tags
from llmneutral.convert.react.parser import HEADING
from llmneutral.convert.react.reading import THOUGHT
from llmneutral.ir.contents import (
    ActionResultMessageContent,
    ImageMessageContent,
    InvalidActionCallMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import dumps, loads
from llmneutral.ir.messages import Message

Text, Thinking, Result = TextMessageContent, ThinkingMessageContent, ActionResultMessageContent
HEADED = re.compile(f"^{HEADING.pattern}", HEADING.flags | re.MULTILINE)
SAID = "thoughts and calls of the model stand as text: Thought, Actions, Answer"


class History:
    """A conversation, with its calls and results as text.

    Attributes:
        messages: The messages.
        tags: The tags of all calls and results.
    """

    def __init__(self, messages: Messages, names: ToolNames, job: Job) -> None:
        self.names = names
        self.job = job
        self.tags: set[str] = set()
        self._open: list[tuple[Any, str]] = []  # calls of the last turn that have no result yet, with their tags
        self._edited = False
        self.messages = self._written(messages)

    def _written(self, messages: Messages) -> Messages:
        for step in (
            pair_results,
            keep_screenshots,
        ):  # what the transport does to calls and results has to be done here
            messages = self._passed(step, messages)
        out, role = [], ""
        for message in messages:
            if message.role == "assistant":
                if role != "assistant":
                    self._open = []
                new = self._turn(message, is_last=message is messages[-1])
            else:
                new = self._results(message)
            role = message.role
            out.append(new)
        return out if any([a is not b for a, b in zip(out, messages, strict=True)]) else messages

    def _passed(self, step: Pass, messages: Messages) -> Messages:
        job = self.job
        if step.when is not None and step.when.isdisjoint(job.look(messages).kinds):
            return messages
        before, job.note.step = job.note.step, step.name
        messages = step.run(messages, job)
        job.note.step = before
        return messages

    # --- the assistant's --------------------------------------------------------------------------

    def _turn(self, message: Message, *, is_last: bool) -> Message:
        """A turn of the model: its thoughts, its text, and its calls in one text."""
        message = self._without_sealed(message)
        calls = [block for block in message.content if type(block) in CALLS]
        if not calls and not any(map(_is_thought, message.content)):
            return message if is_last else self._answer(message)
        lines: list[str] = []
        taken: list[Any] = []
        rest: list[Any] = []
        for block in message.content:
            said = self._said(block, "Answer: " if lines and not calls else "")
            (rest if said is None else taken).append(block)
            lines += [said] if said else []
        lines += [self._actions(calls)] if calls else []
        if not lines:
            return message
        lead = "\n" if rest and type(rest[-1]) is Text else ""
        new = Text(lead + "\n".join(lines), cache=mark_of(taken))
        self.job.note("rewritten", SAID, *taken, new=new)
        self._edited = True
        return with_content(message, (*rest, new))

    def _answer(self, message: Message) -> Message:
        """An answer with a line in it that would be read as a heading."""
        first = next(
            (i for i, block in enumerate(message.content) if _is_plain(block) and block.to_text().strip()), None
        )
        if first is None or not any([type(x) is Text and HEADED.search(x.text) for x in message.content]):
            return message
        block: Any = message.content[first]
        new = msgspec.structs.replace(block, text=f"Answer: {block.text}")
        why = "a line of the answer looks like a heading of this format, so the answer gets a heading of its own"
        self.job.note("rewritten", why, block, new=new)
        self._edited = True
        return with_content(message, (*message.content[:first], new, *message.content[first + 1 :]))

    def _said(self, block: Any, heading: str) -> str | None:
        """A line of a turn that has thoughts or calls; "" if it has none of its own, None if the block stays."""
        if _is_thought(block):
            return f"Thought: {block.text}" if block.text.strip() else ""
        if _is_plain(block):
            text = block.text.strip("\r\n")
            return f"{heading}{text}" if text.strip() else ""
        return "" if type(block) in CALLS else None

    def _without_sealed(self, message: Message) -> Message:
        """Without reasoning that is bound to what stood before it, once that was rewritten."""
        if not (self._edited and self.job.facts.reasoning_prefix_bound):
            return message
        kept = []
        for block in message.content:
            if type(block) is Thinking and (block.seal or block.is_redacted):
                why = "an earlier turn stands as text, and this reasoning is bound to what stood before it"
                self.job.note("dropped", why, block)
            else:
                kept.append(block)
        return message if len(kept) == len(message.content) else with_content(message, kept)

    def _actions(self, calls: list[Any]) -> str:
        if len(calls) == 1 and _is_unread(calls[0]):
            self._tag(calls[0], Tags())
            return f"Actions: {calls[0].raw}"
        tags = Tags()
        return f"Actions: [{', '.join([self._entry(call, self._tag(call, tags)) for call in calls])}]"

    def _tag(self, call: Any, tags: Tags) -> str:
        tag = tags.new(call.tag)
        self.tags.add(tag)
        self._open.append((call, tag))
        return tag

    def _entry(self, call: Any, tag: str) -> str:
        """One call; what came as text stands as it came."""
        if isinstance(call, InvalidActionCallMessageContent) and not call.name:
            return call.raw
        name = self.names.native(call.name, call.path)
        arguments = arguments_text(call, self.job).strip() or "null"
        return f'{{"tag": {dumps(tag)}, "name": {dumps(name)}, "input": {arguments}}}'

    # --- the user's -------------------------------------------------------------------------------

    def _results(self, message: Message) -> Message:
        """A message of the user: each run of results is one text, with its media behind it."""
        if not any([type(block) is Result for block in message.content]):
            return message
        out: list[Any] = []
        run: list[Any] = []
        for block in message.content:
            if type(block) is Result:
                run.append(block)
                continue
            out += self._observations(run)
            run = []
            out.append(block)
        out += self._observations(run)
        return with_content(message, out)

    def _observations(self, results: list[Any]) -> list[Any]:
        if not results:
            return []
        lines, media = ["Observations:"], []
        for result in results:
            call, tag = self._answered(result)
            lines.append(self._observation(result, call, tag))
            media += self._media(result, tag)
        new = Text("\n".join(lines), cache=mark_of(results))
        self.job.note("rewritten", "results of tools stand as text: Observations", *results, new=new)
        self._edited = True
        return [new, *media]

    def _answered(self, result: Any) -> tuple[Any, str]:
        """The call that a result answers, and its tag."""
        wanted = keys(result.tag)
        place = next((i for i, (call, _) in enumerate(self._open) if wanted & keys(call.tag)), 0)
        return self._open.pop(place) if self._open else (None, result.tag or "")

    def _observation(self, result: Any, call: Any, tag: str) -> str:
        if result.parts is not None:
            output = dumps("\n".join([part.text for part in result.parts if type(part) is Text]))
        elif result.output is None or isinstance(result.output, str):
            output = dumps(result.output or "")
            if _is_unread(call) and _is_line(result.output):
                return str(result.output)
        else:
            output = written(result.output, "a result", result, self.job)
        return f'{{"tag": {dumps(tag)}, "{"error" if result.is_error else "output"}": {output}}}'

    def _media(self, result: Any, tag: str) -> list[Any]:
        found: list[Any] = []
        became = self.job.note.became
        for part in result.parts or ():
            if type(part) is not Text:
                what = "Image" if type(part) is ImageMessageContent else "Attachment"
                found += [became(Text(f"{what} from tool call {tag}:"), result), became(part, result)]
        if found:
            self.job.note("moved", "what a tool gave beside text stands behind the Observations", result)
        return found


def _is_thought(block: Any) -> bool:
    return type(block) is Thinking and block.origin is not None and block.origin.api == THOUGHT.api


def _is_plain(block: Any) -> bool:
    """Whether a text is nothing but text."""
    return type(block) is Text and not (block.citations or block.native or block.thought_signature)


def _is_unread(call: Any) -> bool:
    return isinstance(call, InvalidActionCallMessageContent) and is_unread(call)


def _is_line(text: str | None) -> bool:
    """Whether a text is a JSON object on one line."""
    if not text or "\n" in text:
        return False
    try:
        return isinstance(loads(text), dict)
    except (ValueError, RecursionError):
        return False


def mark_of(blocks: Sequence[Any]) -> Any:
    """Returns the last cache mark of some blocks."""
    return next((block.cache for block in reversed(blocks) if block.cache), None)
