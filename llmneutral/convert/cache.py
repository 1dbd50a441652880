"""Cache breakpoints: which marks go out. Source: platform.claude.com/docs/en/build-with-claude/prompt-caching."""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.passes import move_mark, with_content
from llmneutral.ir.contents import ActionResultMessageContent, ThinkingMessageContent

MOST = 4


def _limit_cache_marks(messages: Messages, job: Job) -> Messages:
    """At most four marks: tools, system, then the latest of the messages; none where there is no cache to mark."""
    if job.setting("cache") == "auto" and job.facts.cache not in ("none", "key"):
        messages = _automatic(_carried(messages, job), job)
    if not any([tool.cache for tool in job.tools]) and not job.look(messages).has_marks:
        return messages
    if job.facts.cache in ("none", "key"):
        return _without(messages, job)
    messages = _carried(messages, job)
    _limit_tools(job)
    tools = [tool for tool in job.tools if tool.cache]
    marked = [(i, j) for i, m in enumerate(messages) for j, c in enumerate(m.content) if c.cache]
    system = [at for at in marked if messages[at[0]].is_system()]
    turns = [at for at in marked if not messages[at[0]].is_system()]
    room = MOST - len(tools)
    kept = system[-room:] if room > 0 else []
    room -= len(kept)
    kept += turns[-room:] if room > 0 else []
    lost = {at for at in marked if at not in kept}
    if not lost:
        return messages
    out = []
    for i, message in enumerate(messages):
        content: list[Any] = list(message.content)
        for j, block in enumerate(content):
            if (i, j) in lost:
                why = f"only {MOST} cache breakpoints are taken; tools, system and the latest ones are kept"
                job.note("dropped", why, block)
                content[j] = _unmarked(block, job)
        out.append(with_content(message, content))
    return out


def _limit_tools(job: Job) -> None:
    """Of more marks on tools than there are at all the latest stay: each covers what the earlier ones do."""
    marked = [i for i, tool in enumerate(job.tools) if tool.cache]
    lost = marked[:-MOST]
    if not lost:
        return
    for i in lost:
        job.note("dropped", f"only {MOST} cache breakpoints are taken; the tool {job.tools[i].native_name!r} has none")
    job.tools = tuple(
        [msgspec.structs.replace(tool, cache=None) if i in lost else tool for i, tool in enumerate(job.tools)]
    )


def _unmarked(block: Any, job: Job) -> Any:
    return job.note.became(msgspec.structs.replace(block, cache=None), block)


def _without(messages: Messages, job: Job) -> Messages:
    """No marks at all: the target has no cache to mark. Said once a request."""
    blocks = [c for m in messages for c in m.content if c.cache]
    job.note("dropped", "this target has no cache breakpoints", *blocks)
    job.tools = tuple([msgspec.structs.replace(tool, cache=None) for tool in job.tools])
    return [
        with_content(m, [_unmarked(c, job) if c.cache else c for c in m.content])
        if any(c.cache for c in m.content)
        else m
        for m in messages
    ]


def _carried(messages: Messages, job: Job) -> Messages:
    """Marks on blocks that cannot carry one move to the block before them."""
    if not job.look(messages).has_marks or ThinkingMessageContent not in job.look(messages).kinds:
        return messages
    out = []
    for message in messages:
        if not any([c.cache and type(c) is ThinkingMessageContent for c in message.content]):
            out.append(message)
            continue
        kept: list[Any] = []
        for block in message.content:
            if block.cache and type(block) is ThinkingMessageContent:
                move_mark(kept, block, job)
                block = _unmarked(block, job)
            kept.append(block)
        out.append(with_content(message, kept))
    return out


def _automatic(messages: Messages, job: Job) -> Messages:
    """Marks the last tool, the last system block, and the last blocks of the last two turns of the user."""
    room = MOST - sum(bool(t.cache) for t in job.tools) - sum(bool(c.cache) for m in messages for c in m.content)
    if room > 0 and job.tools and not job.tools[-1].cache:
        job.tools = (*job.tools[:-1], msgspec.structs.replace(job.tools[-1], cache=True))
        room -= 1
    system = [i for i, m in enumerate(messages) if m.is_system() and m.content]
    users = [i for i, m in enumerate(messages) if m.is_user() and m.content]
    out = list(messages)
    for i in [*system[-1:], *users[:-3:-1]]:
        last = out[i].content[-1]
        if room > 0 and not last.cache:
            marked = job.note.became(msgspec.structs.replace(last, cache=True), last)
            out[i] = with_content(out[i], (*out[i].content[:-1], marked))
            room -= 1
    return out


def _marks_on_results(messages: Messages, job: Job) -> Messages:
    """A mark inside a result stands on the result: its parts cannot carry one."""
    if not any([result.parts and _marked_inside(result) for result in job.look(messages).results]):
        return messages
    return [
        with_content(m, [_hoisted(c, job) if _marked_inside(c) else c for c in m.content])
        if any([_marked_inside(c) for c in m.content])
        else m
        for m in messages
    ]


def _marked_inside(block: Any) -> bool:
    return type(block) is ActionResultMessageContent and bool(block.parts) and any([p.cache for p in block.parts or ()])


def _hoisted(result: Any, job: Job) -> Any:
    mark = result.cache or next(part.cache for part in result.parts if part.cache)
    parts = tuple([msgspec.structs.replace(part, cache=None) if part.cache else part for part in result.parts])
    new = msgspec.structs.replace(result, cache=mark, parts=parts)
    job.note("moved", "the cache mark inside a result stands on the result", result, new=new)
    return new


limit_cache_marks = Pass("limit_cache_marks", _limit_cache_marks)
marks_on_results = Pass("marks_on_results", _marks_on_results, frozenset({ActionResultMessageContent}))
