"""Every call answered, every result called for; and the ids that tie them together.

Source: platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls, and the error texts
of the other providers. A well-formed conversation passes through untouched, in one look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.look import SYSTEM_ROLES
from llmneutral.convert.names import CALLS, digest
from llmneutral.convert.passes import results_only
from llmneutral.ir.contents import ActionResultMessageContent, TextMessageContent, ThinkingMessageContent
from llmneutral.ir.jsontext import dumps
from llmneutral.ir.messages import Message

Result = ActionResultMessageContent
CALL_BLOCKS: frozenset[type] = frozenset(CALLS)
TOOL_BLOCKS: frozenset[type] = frozenset({*CALLS, Result})
NOT_COMPLETED = "No result: this tool call was not completed."
CALL_REMOVED, RESULT_REMOVED = "(tool call removed)", "(tool result removed)"


class _Call:
    """A call and what became of it."""

    __slots__ = ("answered", "content", "result", "stripped", "turn")

    def __init__(self, content: Any, turn: int) -> None:
        self.content = content
        self.turn = turn
        self.result: Any = None
        self.answered = 0  # as which of all results its own was found
        self.stripped = False


def keys(tag: str | None) -> set[str]:
    """Returns the forms under which ids are compared: trimmed, and the halves of a composite `a|b`."""
    if tag is None or not (tag := tag.strip()):
        return set()
    return {tag, *filter(None, (part.strip() for part in tag.split("|")))}


def well_formed(messages: Messages, calls: int, results: int) -> bool:
    """Whether each turn with calls is directly followed by exactly their results, in order.

    Args:
        messages: The messages.
        calls: How many calls there are, wherever they stand: all have to be the assistant's.
        results: How many results there are: all have to be the user's.
    """
    awaited: list[str | None] = []  # the next one last
    called = answered = 0
    for message in messages:
        content: Any = message.content
        if message.role == "assistant":
            if awaited:
                return False
            if len(content) == 1 and type(content[0]) in CALL_BLOCKS:
                awaited = [content[0].tag]
            else:
                awaited = [block.tag for block in reversed(content) if type(block) in CALL_BLOCKS]
            called += len(awaited)
            if awaited and (not all(awaited) or len(set(awaited)) < len(awaited)):
                return False
            continue
        for block in content:
            if type(block) is not Result:
                if awaited:
                    return False
            elif not awaited or awaited.pop() != block.tag:
                return False
            else:
                answered += 1
    return not awaited and called == calls and answered == results


def _pair(messages: Messages, job: Job) -> Messages:
    look = job.look(messages)
    tidy = well_formed(messages, len(look.calls), len(look.results))
    if not tidy or look.has_instructions:  # the quick look takes instructions for the user's side
        for message in messages:
            if not tidy or message.role in SYSTEM_ROLES:
                _check_place(message, job)
    if tidy:
        return messages
    return _Pairing(messages, job).run()


def _check_place(message: Message, job: Job) -> None:
    """Only the assistant calls, and only the user's side answers."""
    for block in message.content:
        if type(block) in CALL_BLOCKS and message.role != "assistant":
            why = f"the call {block.tag!r} stands in a message of the {message.role}; put it into one of the assistant"  # type: ignore[union-attr]
            job.refuse(why, block, rule="roles")
        if type(block) is Result and message.role != "user":
            job.refuse(
                f"the result {block.tag!r} stands in a message of the {message.role}; put it into one of the user",
                block,
                rule="roles",
            )


class _Pairing:
    """The long way: who answers whom, then the messages anew."""

    def __init__(self, messages: Messages, job: Job) -> None:
        self.messages = messages
        self.job = job
        self.turns = _turns(messages)
        self.calls: dict[int, _Call] = {}
        self.claimed: dict[int, _Call] = {}  # by id() of the result
        self.repeats: set[int] = set()
        self.jumped: set[int] = set()

    def run(self) -> Messages:
        """Returns the messages with each turn's results directly behind it."""
        self._match()
        self._answer()
        out: Messages = []
        place = 0
        while place < len(self.messages):
            if self.messages[place].role == "assistant":
                end = place + 1
                while end < len(self.messages) and self.messages[end].role == "assistant":
                    end += 1
                out += self._turn(self.messages[place:end])
                place = end
            else:
                out += self._rest(self.messages[place])
                place += 1
        return out

    def _match(self) -> None:
        open_: dict[str, list[_Call]] = {}
        other_since = False  # something other than results came since the last turn of the assistant
        last_turn: list[_Call] = []
        for place, message in enumerate(self.messages):
            if message.role == "assistant":
                if place == 0 or self.messages[place - 1].role != "assistant":
                    last_turn, other_since = [], False
                batch: dict[str, list[_Call]] = {}
                for content in message.content:
                    if type(content) in CALLS:
                        call = self.calls[id(content)] = _Call(content, self.turns[place])
                        last_turn.append(call)
                        for key in keys(content.tag):  # type: ignore[union-attr]
                            batch.setdefault(key, []).append(call)
                for key, calls in batch.items():
                    same_turn = [c for c in open_.get(key, ()) if c.turn == self.turns[place]]
                    open_[key] = same_turn + calls
                continue
            for content in message.content:
                if type(content) is Result:
                    self._claim(content, open_, last_turn, other_since)
                else:
                    other_since = True

    def _claim(self, result: Result, open_: dict[str, list[_Call]], last: list[_Call], jumped: bool) -> None:
        wanted = keys(result.tag)
        if wanted:
            candidates = [call for key in sorted(wanted) for call in open_.get(key, ())]
            if candidates and all(call.result is not None for call in candidates):
                self.repeats.add(id(result))
                return
            candidates = [call for call in candidates if call.result is None]
        else:
            unanswered = [call for call in last if call.result is None]
            candidates = unanswered if len(unanswered) == 1 else []
        if not candidates:
            return
        call = candidates[0]
        call.result, call.answered = result, len(self.claimed)
        self.claimed[id(result)] = call
        if jumped or (last and call.turn != last[0].turn):
            self.jumped.add(id(result))

    def _answer(self) -> None:
        """Settles what becomes of calls without a result."""
        tail = len(self.messages)
        while tail and results_only(self.messages[tail - 1]):
            tail -= 1
        last = self.turns[tail - 1] if tail and self._is_assistant(tail - 1) else None
        policy = self.job.setting("orphan_calls")
        open_ids = []
        for call in self.calls.values():
            if call.result is not None:
                continue
            if call.turn == last and "orphan_calls" not in self.job.settings:
                open_ids.append(call.content.tag or call.content.name)
                continue
            name = call.content.tag or call.content.name
            if policy == "refuse":
                self.job.refuse(f"the call {name!r} has no result; add one, or set orphan_calls", call.content)
            if policy == "strip":
                call.stripped = True
                self.job.note("dropped", f"the call {name!r} has no result", call.content)
            else:
                call.result = Result(call.content.tag, NOT_COMPLETED, is_error=True)
                why = f"the call {name!r} has no result, and every call needs one: an error result stands for it"
                self.job.note("added", why, call.content, new=call.result)
        self.job.open_calls = tuple(open_ids)

    def _is_assistant(self, place: int) -> bool:
        return self.messages[place].role == "assistant"

    def _turn(self, messages: Messages) -> Messages:
        """One turn of the assistant: its messages (one, if a call is not in the last), then its results."""
        with_calls = [m for m in messages if any(id(c) in self.calls for c in m.content)]
        if not with_calls:
            return messages
        if len(messages) > 1 and with_calls != messages[-1:]:
            content = tuple([c for m in messages for c in m.content])
            self.job.note("merged", "results have to follow the calls, so the turn is joined before them", *content)
            messages = [Message("assistant", content, messages[0].name)]
        calls = [self.calls[id(c)] for m in messages for c in m.content if id(c) in self.calls]
        out = [self._stripped(m) for m in messages]
        results = [call.result for call in calls if call.result is not None]
        for result in results:
            if id(result) in self.jumped:
                self.job.note("moved", "a result stands directly behind the turn that called for it", result)
        self._tell_order([result for result in results if id(result) in self.claimed and id(result) not in self.jumped])
        return [*out, Message("user", tuple(results))] if results else out

    def _tell_order(self, results: Sequence[Result]) -> None:
        """Tells which results of a turn, given in the order of its calls, were found in another one."""
        found = sorted(results, key=lambda result: self.claimed[id(result)].answered)
        moved = [result for result, before in zip(results, found, strict=True) if result is not before]
        if moved:
            self.job.note("moved", "results stand in the order of their calls", *moved)

    def _stripped(self, message: Message) -> Message:
        gone = [c for c in message.content if id(c) in self.calls and self.calls[id(c)].stripped]
        if not gone:
            return message
        kept = _without(message.content, gone)
        sealed = [c for c in kept if type(c) is ThinkingMessageContent and (c.seal or c.is_redacted)]
        if sealed:
            why = "a call of this turn was removed; the signature of its reasoning is valid only for the whole turn"
            self.job.note("dropped", why, *sealed)
            kept = _without(kept, sealed)
        if not kept:
            filler = TextMessageContent(CALL_REMOVED)
            self.job.note("added", "the turn would be empty without its call", *gone, new=filler)
            kept = [filler]
        return msgspec.structs.replace(message, content=tuple(kept))

    def _rest(self, message: Message) -> Messages:
        """A message that is not the assistant's, without the results that moved up."""
        kept: list[Any] = []
        removed = False
        for content in message.content:
            if type(content) is not Result:
                kept.append(content)
            elif id(content) in self.repeats:
                self.job.note("dropped", f"a second result for the call {content.tag!r}; the first one counts", content)
            elif id(content) not in self.claimed:
                left = self._orphan(content)
                removed = removed or not left
                kept += left
        if not kept and removed:
            filler = TextMessageContent(RESULT_REMOVED)
            self.job.note("added", "the message would be empty without its result", *message.content, new=filler)
            kept = [filler]
        if len(kept) == len(message.content) and all(a is b for a, b in zip(kept, message.content, strict=True)):
            return [message]
        return [msgspec.structs.replace(message, content=tuple(kept))] if kept else []

    def _orphan(self, result: Result) -> list[Any]:
        """A result whose call is not in the conversation."""
        policy = self.job.setting("orphan_results")
        tag = result.tag or "without id"
        if policy == "refuse":
            self.job.refuse(f"the result {tag!r} has no call; remove it, or set orphan_results", result)
        if policy == "strip":
            self.job.note("dropped", f"the result {tag!r} has no call", result)
            return []
        parts = result.parts or ()
        said = [part.to_text() for part in parts if type(part) is TextMessageContent]
        text = "\n".join(said) if result.parts is not None else _text(result.output)
        head = f"[Result of tool call {tag}, whose call is not in this conversation]"
        new = TextMessageContent(f"{head}\n{text}", cache=result.cache)
        self.job.note(
            "rewritten", f"the result {tag!r} has no call in this conversation; it stands as text", result, new=new
        )
        media = [part for part in parts if type(part) is not TextMessageContent]
        return [new, *[self.job.note.became(part, result) for part in media]]


def _without(blocks: Sequence[Any], gone: list[Any]) -> list[Any]:
    """The blocks but some, which are told by identity: two calls may well be equal."""
    return [block for block in blocks if not any([block is one for one in gone])]


def _text(output: Any) -> str:
    if isinstance(output, str):
        return output
    try:
        return "" if output is None else dumps(output)
    except (TypeError, ValueError):
        return str(output)


def _turns(messages: Messages) -> list[int]:
    """Numbers the turns: neighbours of the assistant are one turn."""
    found, turn = [], 0
    for place, message in enumerate(messages):
        if not (place and message.role == "assistant" == messages[place - 1].role):
            turn += 1
        found.append(turn)
    return found


def _canonical_ids(messages: Messages, job: Job) -> Messages:
    """Gives each call an id the API takes, unique in the request, and its result the same."""
    rule, fact = job.transport.ids, job.facts.tool_id
    look = job.look(messages)
    tags = [call.tag for call in look.calls]
    results = [result.tag for result in look.results]
    paired = None not in tags and len(set(tags)) == len(tags) and tags[: len(results)] == results
    if paired and rule.valid(tags, fact):
        return messages
    used: set[str] = set()
    count: dict[str, int] = {}
    out: Messages = []
    waiting: list[tuple[Any, str]] = []
    kept: set[str] = set()  # ids of the turn that go out as they are, whatever comes before them
    for message in messages:
        if message.role == "assistant":
            waiting = []
            kept = {c.tag for c in message.content if type(c) in CALLS and c.tag and rule.valid([c.tag], fact)} - used  # type: ignore[union-attr]
        content = list(message.content)
        for place, block in enumerate(content):
            if type(block) in CALLS:
                original = _original(block, len(used))
                again = count.get(original, 0)
                count[original] = again + 1
                new = rule.mapped(original, len(used), used if original in kept else used | kept, again, fact)
                used.add(new)
                waiting.append((block, new))
                content[place] = _retagged(block, new, job)
            elif type(block) is Result and waiting:
                call, new = waiting.pop(0)
                content[place] = _retagged(block, new, job)
                _tell(call, block, new, job)
        for call, new in waiting if message is messages[-1] else ():
            _tell(call, None, new, job)
        same = all(a is b for a, b in zip(content, message.content, strict=True))
        out.append(message if same else msgspec.structs.replace(message, content=tuple(content)))
    return out


def _original(call: Any, place: int) -> str:
    """The id as it came; of a call without one, a digest of what it asks."""
    if call.tag is not None and call.tag.strip():
        return str(call.tag)
    said = call.raw if hasattr(call, "raw") else (call.arguments or _text(call.input))
    return f"call_{digest(f'{call.name}:{said}:{place}', 12)}"


def _retagged(block: Any, tag: str, job: Job) -> Any:
    if block.tag == tag:
        return block
    return job.note.became(msgspec.structs.replace(block, tag=tag), block)


def _tell(call: Any, result: Any, new: str, job: Job) -> None:
    """One remark an id, for the call and its result together."""
    if call.tag != new or (result is not None and result.tag != new):
        why = (
            f"the call id {call.tag!r} goes by {new!r} here"
            if call.tag != new
            else f"the id of a result is {new!r} here"
        )
        job.note("renamed", why, call, *([] if result is None else [result]))


pair_results = Pass("pair_results", _pair, TOOL_BLOCKS)
canonical_ids = Pass("canonical_ids", _canonical_ids, TOOL_BLOCKS)
