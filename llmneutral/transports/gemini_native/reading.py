"""The other way: the body of a request to generateContent → a PromptStack.

Both spellings are read, and the SDK's keyword arguments. Nothing is lost: what has no neutral name goes into the
setting `extra_body`, parts that only this API knows become generic blocks, and what a function declares beside the
neutral fields stays in its own form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from llmneutral.convert.names import digest
from llmneutral.errors import ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.contents import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    GenericMessageContent,
    InvalidActionCallMessageContent,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.ir.jsontext import JSONObject, dumps
from llmneutral.ir.messages import Message
from llmneutral.ir.stack import PromptStack
from llmneutral.transports.gemini_native.blocks import API, RESULT_KEYS, response_of
from llmneutral.transports.gemini_native.parts import OWN, media_of, native_of, signature_of
from llmneutral.transports.gemini_native.reading_config import read_config
from llmneutral.transports.gemini_native.reading_tools import read_tools
from llmneutral.transports.gemini_native.wire import spelt_as_rest

REMEMBERED = 64
ROLES = {"user": "user", "model": "assistant", "function": "user", None: "user", "": "user"}


def read_request(body: JSONObject) -> PromptStack:
    """Reads a request body, in the REST or the SDK's spelling.

    Raises:
        ConversionError: If a content or part is malformed, naming it.
    """
    body = spelt_as_rest(body)
    messages = _system(body.get("systemInstruction"))
    calls = _Calls()
    messages += [_message(content, place, calls) for place, content in enumerate(_listed(body["contents"]))]
    settings, schema = read_config(body)
    return PromptStack(messages, tools=read_tools(body.get("tools")), output_schema=schema, settings=settings)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return [value] if isinstance(value, str | Mapping) else list(value)


def _refuse(what: str, place: int, block: int = 0) -> NoReturn:
    raise ConversionError(what, refs=((place, block),), rule="read_request", api=API)


# --- messages -------------------------------------------------------------------------------------


def _system(given: Any) -> list[Message]:
    if not given:
        return []
    parts = _listed(given["parts"]) if isinstance(given, Mapping) and "parts" in given else _listed(given)
    blocks = [
        TextMessageContent(part) if isinstance(part, str) else TextMessageContent(part["text"], **_own(part))
        for part in parts
    ]
    return [Message("system", tuple(blocks))] if blocks else []


def _message(content: Any, place: int, calls: _Calls) -> Message:
    if isinstance(content, str):
        content = {"parts": [content]}
    if not isinstance(content, Mapping):
        _refuse(f"contents[{place}] is {a_kind(content)}, not an object", place)
    if "parts" not in content and "role" not in content:
        content = {"parts": [content]}  # the SDK takes a part where a content is meant
    role = content.get("role")
    if role not in ROLES:
        _refuse(f"contents[{place}] has the role {role!r}; known: user, model", place)
    if ROLES[role] == "assistant":
        calls.begin()
    blocks = [_block(part, place, number, calls) for number, part in enumerate(_listed(content.get("parts")))]
    return Message(ROLES[role], tuple(blocks))


def _block(part: Any, place: int, number: int, calls: _Calls) -> Any:
    if isinstance(part, str):
        return TextMessageContent(part)
    if not isinstance(part, Mapping):
        _refuse(f"contents[{place}], part {number}, is {a_kind(part)}, not an object", place, number)
    kind = next((key for key in _READERS if part.get(key) is not None), None)
    try:
        return _generic(part) if kind is None else _READERS[kind](part, calls)
    except (KeyError, TypeError, AttributeError) as error:
        what = f"contents[{place}], part {number}, is a malformed {kind} part ({type(error).__name__}: {error})"
        _refuse(what, place, number)


def _own(part: Any, **more: Any) -> JSONObject:
    """What only this API knows of a part, stamped with whose it is."""
    native = native_of(part, **more)
    found: JSONObject = {} if native is None else {"native": native}
    return {**found, "origin": OWN} if native or signature_of(part) else found


def _text(part: Any, calls: _Calls) -> Any:
    del calls
    sealed = signature_of(part)
    if part.get("thought"):
        return ThinkingMessageContent(part["text"], signature=sealed, origin=OWN)
    return TextMessageContent(part["text"], thought_signature=sealed, **_own(part))


def _media(part: Any, calls: _Calls) -> Any:
    del calls
    return media_of(part, OWN)


def _call(part: Any, calls: _Calls) -> Any:
    call = part["functionCall"]
    name, args, tag = call["name"], call.get("args"), call.get("id")
    more = _own(part, id=tag)
    tag = calls.called(tag, name, args)
    if args is not None and not isinstance(args, Mapping):
        return InvalidActionCallMessageContent(tag, name, raw=args if isinstance(args, str) else dumps(args), **more)
    sealed = signature_of(part)
    return ActionCallMessageContent(tag, name, input=dict(args or {}), thought_signature=sealed, **more)


def _result(part: Any, calls: _Calls) -> ActionResultMessageContent:
    given = part["functionResponse"]
    response, name = given.get("response"), given.get("name")
    output, is_error = _output(response)
    parts = None
    if media := _listed(given.get("parts")):
        text = output if isinstance(output, str) else dumps(output)
        parts = (*([TextMessageContent(text)] if text else []), *[media_of(each, OWN) for each in media])
    more = _own(part, **{key: given[key] for key in RESULT_KEYS if key in given})
    tag = calls.answered(given.get("id"), name)
    return ActionResultMessageContent(tag, None if parts else output, parts, name=name, is_error=is_error, **more)


def _output(response: Any) -> tuple[Any, bool]:
    """What a response says, and whether it is an error; an object that is more than that stays as it is."""
    if response is None:
        return "", False
    if isinstance(response, Mapping) and len(response) == 1:
        if "error" in response:
            return response["error"], True
        plain = response.get("output", response)
        if plain is not response and response_of(plain, is_error=False) == response:
            return plain, False
    return response, False


def _generic(part: Any) -> GenericMessageContent:
    return GenericMessageContent(dict(part), origin=OWN)


_READERS: dict[str, Callable[[Any, Any], Any]] = {
    "functionCall": _call,
    "functionResponse": _result,
    "inlineData": _media,
    "fileData": _media,
    "text": _text,
}
"""Parts with a neutral form, by the key of their data; any other is this API's own."""


class _Calls:
    """Which result answers which call: by id, where there are ids; else by name and order."""

    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.count = 0

    def begin(self) -> None:
        """A turn of the model begins; what was left open long before is forgotten, so that reading stays linear."""
        self.open = self.open[-REMEMBERED:]

    def called(self, tag: str | None, name: str, args: Any) -> str:
        """Returns the id of a call; one without gets one made of what it asks."""
        self.count += 1
        found = tag or f"call_{digest(f'{name}:{args}:{self.count}', 12)}"
        self.open.append(_Open(found, name, has_id=bool(tag)))
        return found

    def answered(self, tag: str | None, name: str | None) -> str | None:
        """Returns the id of the call that a result answers."""
        told = next(self._candidates(tag, name), None)
        if told is None:
            return tag
        self.open.remove(told)
        return told.tag

    def _candidates(self, tag: str | None, name: str | None) -> Iterator[_Open]:
        if tag:
            yield from [call for call in self.open if call.tag == tag]
        yield from [call for call in self.open if call.name == name and not (tag and call.has_id)]
        if not tag:
            yield from self.open[:1]


class _Open(NamedTuple):
    """A call that has no result yet."""

    tag: str
    name: str
    has_id: bool
