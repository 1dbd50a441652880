"""One block of a message: its kind, its first words, and all of it. Blocks are plain JSON data, as in a saved stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llmneutral_widgets.views import markdown
from llmneutral_widgets.views.jsonlines import compact, pretty
from llmneutral_widgets.views.page import Html, Room, badge, count, fold, join, line, size, tag
from llmneutral_widgets.views.pictures import Album, picture_type
from llmneutral_widgets.views.pictures import decoded as decoded_picture

Block = Mapping[str, Any]

_SHOWN_FIELDS = frozenset(
    "type text citations data media_type url input arguments raw output parts value cache transcript".split()
)
_ONE_LINE = 100
_NEVER_RUN = "the arguments are no JSON object; this call is never run"
_SEALS = ("signature", "encrypted_content", "thought_signature")


def preview(block: Mapping[str, Any], most: int = 60) -> Html:
    """Returns the first words of a block, for the line that opens it: open, the whole text stands below instead."""
    words = join([first_words(block, most)])
    return tag("span", words, class_="preview") if kind_of(block) in ("text", "thinking") else words


def messages_of(given: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Returns messages to show: what stands among them and is none is a message that holds what it is."""
    return [message if isinstance(message, Mapping) else _no_message(message) for message in given]


def _no_message(value: Any) -> Mapping[str, Any]:
    return {"role": "(not a message)", "content": [{"type": "generic", "value": value}]}


def address(ref: Sequence[Any]) -> tuple[int, int]:
    """Returns the address of a block; of a message that is none, its only block's."""
    return (ref[0], ref[1] or 0) if len(ref) > 1 else (ref[0], 0)


def blocks_of(message: Mapping[str, Any]) -> list[Block]:
    """Returns the blocks of a message; what is none is shown as it is."""
    given = message.get("content")
    found = [given] if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
    return [block if isinstance(block, Mapping) else {"type": "generic", "value": block} for block in found]


def kind_of(block: Block) -> str:
    """Returns the kind of a block; one that has none is generic."""
    return str(block.get("type") or "generic")


def first_words(block: Block, most: int = 60) -> str:
    """Returns what a block says, in one line."""
    kind = kind_of(block)
    if kind in ("tool_call", "invalid_tool_call"):
        given = block.get("raw") or "" if kind == "invalid_tool_call" else compact(block.get("input", {}), most * 2)
        return line(f"{tool_name(block)} {given}", most)
    if kind == "tool_result":
        return line(result_text(block), most)
    if kind in ("image", "audio", "document"):
        return line(media_words(block), most)
    if kind == "generic":
        return line(compact(block.get("value", {}), most * 2), most)
    if kind == "thinking" and not block.get("text"):
        return "redacted" if block.get("data") else "not shown by the provider"
    return line(str(block.get("text") or ""), most)


def tool_name(block: Block) -> str:
    """Returns the name of a call's tool, with the activity where it has several."""
    return ".".join(str(part) for part in (block.get("name"), block.get("path")) if part)


def result_text(block: Block) -> str:
    """Returns what a tool gave back, as text."""
    parts = block.get("parts")
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        return " ".join(first_words(part, 400) for part in parts if isinstance(part, Mapping))
    output = block.get("output")
    return output if isinstance(output, str) else "" if output is None else compact(output)


def media_words(block: Block) -> str:
    """Returns what a picture, sound or document is: name, type, size or address."""
    data = block.get("data")
    octets = size(len(data) * 3 // 4 - data[-2:].count("=")) if isinstance(data, str) else None
    where = block.get("url") or block.get("file_id") or (block.get("id") if kind_of(block) == "audio" else None)
    said = [block.get("name") or block.get("title"), block.get("media_type"), octets, where, block.get("transcript")]
    return ", ".join([str(part) for part in said if part]) or kind_of(block)


def prose(source: str, room: Room) -> Html:
    """Returns a text of a message as a reader wants it, in the direction it is written in."""
    shown, missing = room.take(source)
    more = [tag("p", tag("small", f"{missing:,} more characters are not shown here"))] if missing else []
    return tag("div", markdown.html(shown), *more, class_="prose", dir="auto")


def raw(source: str, room: Room, class_: str | None = None) -> Html:
    """Returns a text exactly as it is."""
    shown, missing = room.take(source)
    return tag("pre", f"{shown}… ({missing:,} more)" if missing else shown, class_=class_)


def content(block: Block, room: Room, album: Album) -> Html:
    """Returns all of a block that is for reading."""
    return _CONTENT.get(kind_of(block), _generic)(block, room, album)


def facts(block: Block) -> Html:
    """Returns what else is known of a block: ids, cache mark, origin, and that it is signed (never the signature)."""
    said = fact_words(block)
    return tag("div", tag("small", " · ".join(said)), class_="facts") if said else Html()


def fact_words(block: Block) -> list[str]:
    """Returns the same in words."""
    said = [
        f"{key} {compact(value, 80) if isinstance(value, (dict, list)) else line(str(value), 80)}"
        for key, value in block.items()
        if key not in _SHOWN_FIELDS and key not in (*_SEALS, "origin") and value not in (None, False, (), [], {})
    ]
    if block.get("cache"):
        said.append("cache breakpoint" if block["cache"] is True else f"cache breakpoint {block['cache']}")
    if name := origin(block):
        said.append(f"made by {name}")
    return [*said, *[f"{seal.replace('_', ' ')} present" for seal in _SEALS if block.get(seal)]]


def origin(block: Block) -> str | None:
    """Returns who made a block: `anthropic_messages/claude-sonnet-5-5`."""
    told = block.get("origin")
    if not isinstance(told, Mapping):
        return None
    return "/".join([str(told[key]) for key in ("api", "model") if told.get(key)]) or None


# ----------------------------------------------------------------------------------------------------------------------
# One function per kind


def _text(block: Block, room: Room, album: Album) -> Html:
    source = str(block.get("text") or "")
    return join([prose(source, room), _citations(block.get("citations"))])


def _citations(given: Any) -> Html:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        return Html()
    items = [tag("li", tag("small", compact(citation, 300))) for citation in given[:20]]
    return fold(count(len(given), "citation"), tag("ol", *items))


def _thinking(block: Block, room: Room, album: Album) -> Html:
    source = str(block.get("text") or "")
    return prose(source, room) if source else tag("p", tag("small", first_words(block)))


def _call(block: Block, room: Room, album: Album) -> Html:
    given = block.get("input", {})
    short = compact(given, _ONE_LINE * 2)
    shown = tag("code", f" {short}") if len(short) <= _ONE_LINE else raw(pretty(given), room)
    return tag("div", tag("code", tool_name(block) or "?"), shown, class_="call")


def _invalid_call(block: Block, room: Room, album: Album) -> Html:
    note = join([badge("invalid", "bad"), f" {_NEVER_RUN}"])
    given = raw(str(block.get("raw") or ""), room)
    return tag("div", tag("code", tool_name(block) or "?"), " ", note, given, class_="call")


def _result(block: Block, room: Room, album: Album) -> Html:
    mark = [badge("error", "bad")] if block.get("is_error") else []
    parts = block.get("parts")
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        return tag("div", *mark, *[content(part, room, album) for part in parts if isinstance(part, Mapping)])
    output = block.get("output")
    short = result_text(block)
    shown = short if isinstance(output, str) or len(short) <= _ONE_LINE else pretty(output)
    return tag("div", *mark, raw(shown, room), class_="call")


def _media(block: Block, room: Room, album: Album) -> Html:
    data = block.get("data")
    if isinstance(data, str) and picture_type(decoded_picture(data[:64])):
        return tag("p", album.picture(data, block.get("media_type"), alt=str(block.get("name") or "picture")))
    said = tag("p", tag("small", media_words(block)))
    inner = [raw(str(block["text"]), room)] if block.get("text") else []
    parts = [content(part, room, album) for part in block.get("parts") or () if isinstance(part, Mapping)]
    return join([said, *inner, *parts])


def _refusal(block: Block, room: Room, album: Album) -> Html:
    category = f" ({block['category']})" if block.get("category") else ""
    return tag("div", badge("refusal", "warn"), category, prose(str(block.get("text") or ""), room))


def _generic(block: Block, room: Room, album: Album) -> Html:
    return raw(pretty(block.get("value", block)), room)


_CONTENT: dict[str, Callable[[Block, Room, Album], Html]] = {
    "text": _text,
    "thinking": _thinking,
    "image": _media,
    "audio": _media,
    "document": _media,
    "tool_call": _call,
    "invalid_tool_call": _invalid_call,
    "tool_result": _result,
    "refusal": _refusal,
    "generic": _generic,
}


# ----------------------------------------------------------------------------------------------------------------------
# The same as text


def block_text(block: Block) -> str:
    """Returns all of a block that is for reading, as text: what `content` shows."""
    return _TEXTS.get(kind_of(block), _generic_text)(block)


def _text_text(block: Block) -> str:
    given = block.get("citations")
    cited = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    return "\n".join([str(block.get("text") or ""), *[f"cites {compact(each, 300)}" for each in cited[:20]]])


def _thinking_text(block: Block) -> str:
    return str(block.get("text") or "") or f"({first_words(block)})"


def _call_text(block: Block) -> str:
    given = block.get("input", {})
    short = compact(given, _ONE_LINE * 2)
    return f"{tool_name(block) or '?'} {short if len(short) <= _ONE_LINE else pretty(given)}"


def _invalid_call_text(block: Block) -> str:
    return f"{tool_name(block) or '?'} (invalid: {_NEVER_RUN})\n{block.get('raw') or ''}"


def _result_text(block: Block) -> str:
    parts, output, short = block.get("parts"), block.get("output"), result_text(block)
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        said = "\n".join([block_text(part) for part in parts if isinstance(part, Mapping)])
    else:
        said = short if isinstance(output, str) or len(short) <= _ONE_LINE else pretty(output)
    return f"(error) {said}" if block.get("is_error") else said


def _media_text(block: Block) -> str:
    inner = [str(block["text"])] if block.get("text") else []
    parts = [block_text(part) for part in block.get("parts") or () if isinstance(part, Mapping)]
    return "\n".join([line(media_words(block), 200), *inner, *parts])


def _refusal_text(block: Block) -> str:
    category = f"({block['category']}) " if block.get("category") else ""
    return f"{category}{block.get('text') or ''}"


def _generic_text(block: Block) -> str:
    return pretty(block.get("value", block))


_TEXTS: dict[str, Callable[[Block], str]] = {
    "text": _text_text,
    "thinking": _thinking_text,
    "image": _media_text,
    "audio": _media_text,
    "document": _media_text,
    "tool_call": _call_text,
    "invalid_tool_call": _invalid_call_text,
    "tool_result": _result_text,
    "refusal": _refusal_text,
    "generic": _generic_text,
}
