"""One exchange as it is shown and saved: the answer, how it came about, and what it cost. Input is the saved JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmneutral_widgets.views.blocks import blocks_of, content, first_words, kind_of, prose, raw, tool_name
from llmneutral_widgets.views.changes import counted, glossary, step_name, told_of
from llmneutral_widgets.views.jsonlines import pretty
from llmneutral_widgets.views.limits import USUAL, Limits
from llmneutral_widgets.views.page import (
    LEFT,
    Html,
    Room,
    badge,
    count,
    doc_link,
    fitted,
    fold,
    join,
    line,
    page,
    tag,
    visible,
)
from llmneutral_widgets.views.pictures import Album
from llmneutral_widgets.views.usage import money, priced_by, tokens_per_second

Record = Mapping[str, Any]
SECTIONS = ("blocks", "answer")

_STATUS = {
    "interrupted": ("interrupted", "warn"),
    "incomplete": ("incomplete: the stream ended without its terminator", "warn"),
    "failed": ("failed", "bad"),
    "refused": ("refused", "warn"),
    "dry_run": ("dry run: nothing was sent", "note"),
}
_FINISH = {
    "length": ("cut off: the limit of tokens was reached", "warn"),
    "content_filter": ("stopped by the provider's content filter", "warn"),
    "pause": ("paused: run it again to go on", "note"),
    "error": ("ended with an error", "bad"),
    "other": ("ended for a reason of the provider's own", "note"),
}


def exchange_page(record: Record, limits: Limits = USUAL) -> Html:
    """Returns an exchange as one output.

    Args:
        record: The exchange as it is saved (`Exchange.to_json`), plain data without secrets.
        limits: How much is shown of it.
    """
    return fitted(lambda most: page(exchange_body(record, Room(most), limits.album()), sections=SECTIONS))


def comparison_page(records: Sequence[Record], limits: Limits = USUAL) -> Html:
    """Returns several answers to the same question side by side."""
    share = max(1, len(records))
    return fitted(
        lambda most: columns_page(
            list(map(maker, records)),
            [exchange_body(record, Room(most // share), limits.album(2)) for record in records],
        )
    )


def columns_page(heads: Sequence[str], bodies: Sequence[Html]) -> Html:
    """Returns bodies side by side as one output."""
    head = tag("tr", *[tag("th", name, scope="col", style=LEFT) for name in heads])
    cells = tag("tr", *[tag("td", body, style=LEFT) for body in bodies])
    table = tag("table", tag("thead", head), tag("tbody", cells), class_="side")
    return page(tag("div", table, class_="wide"), sections=(*SECTIONS, "side"))


def error_page(error: Mapping[str, Any]) -> Html:
    """Returns an error as one output."""
    return page(error_body(error), sections=SECTIONS)


def frame_body(
    name: str,
    *,
    thinking: tuple[int, str],
    answer: tuple[str, int],
    calls: Sequence[tuple[str, str]],
    rounds: Sequence[Html] = (),
) -> Html:
    """Returns an answer that is still coming, without its style sheet.

    Args:
        name: Who answers.
        thinking: How many characters of thinking there are, and what is shown of them: nothing, once the answer began.
        answer: What is shown of the answer, and how many characters before it are hidden.
        calls: Names and arguments of calls, as far as they have come.
        rounds: The answers before it, and the results of their calls.
    """
    room = Room(100_000)
    (thought, shown), (text, hidden) = thinking, answer
    parts = [*rounds, thinking_fold(thought, shown)]
    if hidden:
        parts.append(tag("p", tag("small", f"{hidden:,} earlier characters are hidden while streaming")))
    parts += [prose(text, room)] if text else []
    parts += _calls(calls, room)
    return tag("div", *parts, tag("div", f"{name} · answering …", class_="foot"), class_="answer")


def _calls(calls: Sequence[tuple[str, str]], room: Room) -> list[Html]:
    """Calls that are coming in."""
    shown = [tag("div", tag("code", name or "?"), raw(given, room), class_="call") for name, given in calls]
    return [tag("div", _word("tool_call"), call, class_="tool") for call in shown]


def round_parts(thought: int, text: str, calls: Sequence[tuple[str, str]]) -> list[Html]:
    """Returns the pieces of an answer that has ended and is followed by another one, as frames show it.

    Args:
        thought: Characters of thinking.
        text: What is shown of its text.
        calls: Names and arguments of its calls.
    """
    room = Room(100_000)
    thinking = [thinking_fold(thought, "")] if thought else []
    return [*thinking, *([prose(text, room)] if text else []), *_calls(calls, room)]


def thinking_fold(letters: int, shown: str) -> Html:
    """Returns thinking that is still coming: open while there is something of it to show; nothing, if there is none."""
    if not letters:
        return Html()
    inner = [prose(shown, Room(100_000))] if shown else []
    return fold(f"thinking, {count(letters, 'character')}", *inner, is_open=bool(shown), class_="thinking")


def exchange_body(record: Record, room: Room, album: Album) -> Html:
    """Returns an exchange without its style sheet: for a page, a column or a panel."""
    response = _map(record.get("response"))
    parts = [
        *[_round(message, room, album) for message in record.get("rounds") or ()],
        *[answer_block(block, room, album) for block in response.get("blocks") or ()],
        _verdict(record, response),
        error_body(_map(record.get("error"))),
        _payload(record),
        foot(record),
        _changes(record.get("changes") or ()),
    ]
    return tag("div", *parts, class_="answer")


def answer_block(block: Mapping[str, Any], room: Room, album: Album, *, is_open: bool = False) -> Html:
    """Returns a block of an answer: text as it reads, thinking folded, a call by its name and arguments."""
    kind = kind_of(block)
    if kind == "thinking":
        source = str(block.get("text") or "")
        said = f"thinking, {count(len(source), 'character')}" if source else f"thinking ({first_words(block)})"
        return fold(said, prose(source, room), class_="thinking", is_open=is_open) if source else _aside(said)
    if kind in ("tool_call", "invalid_tool_call", "tool_result"):
        return tag("div", _word(kind), content(block, room, album), class_="tool")
    return content(block, room, album)


def _word(kind: str) -> Html:
    words = {"tool_call": "calls", "invalid_tool_call": "calls", "tool_result": "result"}
    return tag("span", words[kind], class_="kind")


def _aside(said: str) -> Html:
    return tag("p", tag("small", said), class_="thinking")


def _round(message: Any, room: Room, album: Album) -> Html:
    """A message between the question and the answer: calls and results, in order; what else was said is folded."""
    given = _map(message)
    blocks = blocks_of(given)
    if given.get("role") == "assistant" and any([kind_of(block) in _CALLS for block in blocks]):
        return join([answer_block(block, room, album) for block in blocks])
    results = [answer_block(block, room, album) for block in blocks if kind_of(block) == "tool_result"]
    others = [answer_block(block, room, album) for block in blocks if kind_of(block) != "tool_result"]
    said = "an answer that did not fit" if given.get("role") == "assistant" else "what was said to it"
    return join([*results, *([fold(said, *others, class_="thinking")] if others else [])])


_CALLS = ("tool_call", "invalid_tool_call")


def _verdict(record: Record, response: Mapping[str, Any]) -> Html:
    """How it ended, if not as it should."""
    said = [_STATUS.get(str(record.get("status"))), _FINISH.get(str(response.get("finish_reason")))]
    shown = [badge(*found) for found in said if found]
    return tag("p", *[join([each, " "]) for each in shown], class_="verdict") if shown else Html()


def error_body(error: Mapping[str, Any]) -> Html:
    """Returns an error in at most three lines: what, where, and what to do."""
    if not error:
        return Html()
    status = f" ({error['status']})" if error.get("status") else ""
    keys = ("provider", "model", "api", "rule", "path", "request_id")
    where = [f"{key.replace('_', ' ')} {error[key]}" for key in keys if error.get(key)]
    name = error.get("name") or error.get("type") or "error"
    lines = [tag("div", tag("b", f"{name}{status}"), f": {error.get('message')}")]
    lines += [tag("div", tag("small", " · ".join(where)))] if where else []
    lines += [tag("div", f"→ {error['hint']}")] if error.get("hint") else []
    return tag("div", *lines, class_="error")


def _payload(record: Record) -> Html:
    """The payloads of a dry run, where only the saved form is at hand."""
    payloads = _map(record.get("payload"))
    return join([fold(f"payload for {api}", raw(pretty(body, 400), Room(40_000))) for api, body in payloads.items()])


def _changes(changes: Sequence[Mapping[str, Any]]) -> Html:
    if not changes:
        return Html()
    items = []
    for change in changes[:200]:
        told = told_of(change)
        where = ", ".join([f"{ref[0]}.{ref[1]}" for ref in change.get("refs") or ()])
        said = [tag("mark", told.kind), f" {where} by ", step_name(told.step), f": {told.why} ", doc_link(told.doc)]
        items.append(tag("li", *said))
    return fold(counted(changes), tag("ul", *items), glossary(changes), class_="changes")


# ----------------------------------------------------------------------------------------------------------------------
# Words


def maker(record: Record) -> str:
    """Returns who answered: `anthropic · claude-sonnet-5-5`."""
    model = record.get("answered_by") or record.get("model")
    return " · ".join([str(part) for part in (record.get("provider") or record.get("api"), model) if part]) or _NOBODY


def footer(record: Record) -> list[str]:
    """Returns who answered, what was sent, what came back, how fast, for how much. The unknown is n/a, never 0.

    Of an exchange of which nothing of this is known (a stack as a notebook, say) nothing is said.
    """
    who, back, speed, cost = maker(record), _tokens(record), _speed(record), _cost(record)
    if {who, back, speed, cost} <= _NOTHING:
        return []
    return [part for part in (who, _sent(record), back, speed, cost) if part]


def foot(record: Record) -> Html:
    """Returns the footer as markup: what "cached" means here, and where prices are from, is told by its place."""
    if not footer(record):
        return Html()
    tokens, cost, source = _tokens(record), _cost(record), _map(record.get("cost")).get("source")
    why = _CACHED_HERE if str(record.get("provider")) in _EMBEDDED else _CACHED
    parts: list[str] = []
    for word in footer(record):
        if word == tokens and "cached" in word:
            word = tag("span", word, title=why, class_="told")
        elif word == cost and source:
            word = tag("span", word.removesuffix(f" ({source})"), title=priced_by(str(source)), class_="told")
        parts.append(word)
    return tag("div", join(parts, " · "), class_="foot")


_NOBODY, _NO_TOKENS, _NO_COST = "?", "tokens n/a", "cost n/a"
_NOTHING = {_NOBODY, _NO_TOKENS, _NO_COST, None}
"""What is said of an exchange of which nothing is known."""
_EMBEDDED = frozenset({"local", "local-responses", "local-messages"})
_CACHED = "cached: the beginning of the prompt, which the provider had kept from an earlier request"
_CACHED_HERE = (
    "cached: the beginning of the prompt, already computed: at first the chat template's opening alone, "
    "later all that was asked before"
)


def _sent(record: Record) -> str | None:
    history = _map(record.get("history"))
    number = history.get("messages")
    if not isinstance(number, int) or record.get("status") == "dry_run":
        return None
    return f"{count(number, 'earlier message')} sent" if number else "no earlier messages"


def _tokens(record: Record) -> str | None:
    usage = _map(_map(record.get("response")).get("usage"))
    given, made = usage.get("input_total"), usage.get("output_total")
    if record.get("status") == "dry_run":
        return None
    if given is None and made is None:
        return _NO_TOKENS
    apart = [
        f"{usage[key]:,} {word}"
        for key, word in (("cache_read", "cached"), ("cache_write", "written to the cache"), ("reasoning", "reasoning"))
        if usage.get(key)
    ]
    shown = [_number(usage.get(key), _is_part(record, key)) for key in ("input_total", "output_total")]
    return f"{' → '.join(shown)} tokens" + (f" ({', '.join(apart)})" if apart else "")


def _is_part(record: Record, key: str) -> bool:
    """Whether a count is a sum over calls of which some did not tell; those that failed have none to tell."""
    calls = [_map(call) for call in record.get("calls") or ()]
    return any([call.get("status") != "retried" and _map(call.get("usage")).get(key) is None for call in calls])


def _number(value: Any, is_part: bool = False) -> str:
    return f"{'≥ ' if is_part else ''}{value:,}" if isinstance(value, int) else "n/a"


def _speed(record: Record) -> str | None:
    timing = _map(record.get("timing"))
    first, total = timing.get("first_delta_s"), timing.get("total_s")
    rate = tokens_per_second(_map(_map(record.get("response")).get("usage")).get("output_total"), first, total)
    calls = [_map(call).get("status") for call in record.get("calls") or ()]
    asked, rejected = len(calls) - calls.count("retried"), calls.count("rejected")
    said = [
        None if first is None else f"first {first:.2f} s",
        None if total is None else f"{total:.1f} s",
        None if rate is None or asked > 1 else f"{int(rate)} tok/s",
        None if asked < 2 else f"{asked} requests{f', {rejected} rejected' if rejected else ''}",
        f"{timing['attempts']} attempts" if (timing.get("attempts") or 1) > 1 else None,
    ]
    return ", ".join([part for part in said if part]) or None


def _cost(record: Record) -> str | None:
    cost = _map(record.get("cost"))
    if record.get("status") == "dry_run":
        return None
    amount = cost.get("amount")
    if not isinstance(amount, (int, float)):
        return _NO_COST
    source = f" ({cost['source']})" if cost.get("source") else ""
    currency = f" {cost.get('currency') or 'USD'}" if amount else ""
    return f"cost {money(amount)}{currency}{source}"


def _of_error(record: Record) -> list[str]:
    """Returns what the provider's support asks for."""
    error = _map(record.get("error"))
    told = (("status", error.get("status")), ("request id", error.get("request_id")))
    return [f"{name} {line(str(value), 100)}" for name, value in told if value]


def summary_line(record: Record, *, with_text: bool = True) -> str:
    """Returns an exchange as plain text: one line, and the first 200 characters of the answer."""
    response = _map(record.get("response"))
    answer = str(response.get("text") or "") if with_text else ""
    status = str(record.get("status"))
    said = " · ".join([*footer(record), *([] if status == "complete" else [status, *_of_error(record)])])
    calls = [f"calls {tool_name(block)}" for block in response.get("blocks") or () if kind_of(block) == "tool_call"]
    body = answer[:200] + ("…" if len(answer) > 200 else "") if answer else ", ".join(calls)
    error = line(str(_map(record.get("error")).get("message") or ""), 200)
    return visible("\n".join([part for part in (said, error, body) if part]))


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
