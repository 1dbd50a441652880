"""What a front end is given for a value: HTML, a few words of plain text, and for an exchange its JSON.

What must live here: the way from a live value to a bundle. It is pure (nothing is published here), and it never
raises: a value that cannot be shown is shown by its repr, because an error of ours in a repr would fail the cell of
the user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import msgspec

from llmneutral_widgets import limits, scrub
from llmneutral_widgets.exchange import MIME, SCHEMA, Exchange, Exchanges, error_record, folded
from llmneutral_widgets.places import without_begun
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.views.answer import comparison_page, error_page, exchange_page, summary_line
from llmneutral_widgets.views.configs import configs_page
from llmneutral_widgets.views.listed import exchange_text, stack_text
from llmneutral_widgets.views.page import Html, View, count, line, visible
from llmneutral_widgets.views.payload import MOST, Column, comparison, payload_page
from llmneutral_widgets.views.payload_text import comparison_text, payload_text
from llmneutral_widgets.views.stack import stack_page


class Verdict(NamedTuple):
    """What the types of an SDK say of a payload.

    Attributes:
        checked: What it was held against ("openai 3.57 types"); None if it was not.
        problems: What was found.
        unchecked: Why it was not ("SDK not installed").
    """

    checked: str | None = None
    problems: Sequence[Any] = ()
    unchecked: str | None = None


Printed = Callable[[int], str]
"""Cells of a line -> text."""


class _Parts(NamedTuple):
    data: dict[str, Any]
    metadata: Mapping[str, Any]


class Bundle(_Parts):
    """MIME type -> data, and the metadata of the output.

    Its texts hold no secrets, whoever made it and whatever of: names of conversations, of tools and files. What is put
    into a view is cleaned before; this is the last door, and the only way to an output.

    Attributes:
        printed: Makes the text that is printed where there is no front end, of the cells of a line; None where the
            plain text says it all. It is never saved: what is saved of a view as text is a line.
    """

    printed: Printed | None

    def __new__(
        cls,
        data: Mapping[str, Any],
        metadata: Mapping[str, Any] = MappingProxyType({}),
        printed: Printed | None = None,
    ) -> Self:
        """Makes a bundle of what it is given, without secrets."""
        texts = [mime for mime in _TEXTS if isinstance(data.get(mime), str)]
        secrets = scrub.current_secrets() if texts else None
        clean = {mime: secrets.text(str(data[mime])) for mime in texts} if secrets else {}
        made = super().__new__(cls, {**data, **clean}, metadata)
        made.printed = printed
        return made

    def text(self, width: int) -> str:
        """Returns what is printed where there is no front end, in lines of so many cells."""
        said = str(self.data.get("text/plain", ""))
        try:
            return said if self.printed is None else scrub.current_secrets().text(visible(self.printed(width)))
        except Exception:  # noqa: BLE001 - a view that fails must not fail the cell
            return said


_TEXTS = ("text/html", "text/plain")


def bundle_of(value: Any, source: Any = None) -> Bundle:
    """Returns the bundle of any value this layer shows; nothing is raised.

    Args:
        value: An exchange, a view, a stack, a message, a conversion or several by API mode, a response, a config or an
            error; anything else by its repr.
        source: For conversions: the stack they were made of.
    """
    try:
        return _made(value, source)
    except Exception as error:  # noqa: BLE001 - a view that fails must not fail the cell
        return unshown(value, error)


def unshown(value: Any, error: Exception) -> Bundle:
    """Returns the bundle of a value whose view has failed: its repr and why; an answer has its text and record, too."""
    said = [scrub.builtin_repr(value), f"could not be shown: {type(error).__name__}: {error}"]
    kept: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # what has failed may be just that
        if isinstance(value, Exchange):
            kept, metadata = {MIME: folded(value.to_json())}, _keys(value)
            said.append(str(value.text))
    return Bundle({"text/plain": visible("\n".join([each for each in said if each])), **kept}, metadata)


def _keys(exchange: Exchange) -> dict[str, Any]:
    return {"llmneutral": {"schema": SCHEMA, "exchange_id": exchange.id, "cell_id": exchange.cell_id}}


def _made(value: Any, source: Any) -> Bundle:
    for kind, make in _MAKERS:
        if isinstance(value, kind):
            return make(value)
    if isinstance(value, Mapping) and value and all([hasattr(each, "to_json") for each in value.values()]):
        return conversions_bundle(value, source)
    return _library_bundle(value, source)


def _library_bundle(value: Any, source: Any) -> Bundle:
    """The bundle of a value of the library's; its classes are looked up now, so that nothing is imported early."""
    import llmneutral

    if isinstance(value, llmneutral.PromptStack):
        return stack_bundle(value)
    if isinstance(value, llmneutral.Message):
        messages, said = [plain(value)], f"{value.role}: {line(value.to_text(), 200)}"
        return _page(stack_page(messages, limits=limits.current()), said, lambda width: stack_text(messages, width))
    if isinstance(value, llmneutral.Conversion):
        return conversions_bundle({value.api: value}, source)
    if isinstance(value, llmneutral.NormalizedResponse):
        record = response_record(plain(value.to_dict()))
        shown = exchange_page(record, limits.current())
        return _page(shown, summary_line(record), lambda width: exchange_text(record, width))
    if isinstance(value, llmneutral.LLMNeutralError):
        record = plain(error_record(value))
        return _page(error_page(record), f"{record['name']}: {record['message']}")
    if hasattr(type(value), "status") and hasattr(type(value), "prompt_driver"):
        row = plain(value.status())
        return _page(configs_page([row]), repr(value))
    return Bundle({"text/plain": visible(repr(value))})


def exchange_bundle(exchange: Exchange) -> Bundle:
    """Returns what is published, and saved, of an exchange."""
    record = exchange.to_json()
    data, keys = {"text/plain": summary_line(record), MIME: folded(record)}, _keys(exchange)
    if exchange.status == "dry_run" and exchange.conversions:
        shown = conversions_bundle(exchange.conversions, exchange.stack)
        return Bundle({"text/html": shown.data["text/html"], **data}, keys, shown.printed)
    html = str(exchange_page(record, limits.current()))
    return Bundle({"text/html": html, **data}, keys, lambda width: exchange_text(record, width))


def exchanges_bundle(exchanges: Sequence[Exchange]) -> Bundle:
    """Returns several answers side by side; the JSON is the first one's, with the `others` in it."""
    records = [exchange.to_json() for exchange in [*exchanges[:1], *map(without_begun, exchanges[1:])]]
    text = "\n\n".join(map(summary_line, records))
    first, *others = map(folded, records)
    html = str(comparison_page(records, limits.current()))
    data = {"text/html": html, "text/plain": text, MIME: {**first, "others": others}}

    def printed(width: int) -> str:
        return "\n\n".join([exchange_text(record, width) for record in records])

    return Bundle(data, _keys(exchanges[0]), printed)


def stack_bundle(stack: Any, **view: Any) -> Bundle:
    """Returns a conversation; `view` as in `stack_page`."""
    view |= {"name": plain(view["name"])} if "name" in view else {}  # a name is cut to a line, a key in it too
    view |= {"makers": cleaned(view["makers"])} if "makers" in view else {}
    view |= {"tools": plain([definition(tool) for tool in stack.tools]), "limits": limits.current()}
    messages = plain(stack.messages)
    said = f"PromptStack of {count(len(messages), 'message')}"
    return _page(stack_page(messages, **view), said, lambda width: stack_text(messages, width, **view))


def cleaned(told: Mapping[int, str]) -> dict[int, str]:
    """Returns what is told of messages, by their numbers, without secrets."""
    return {number: plain(text) for number, text in told.items()}


def conversions_bundle(
    conversions: Mapping[str, Any],
    source: Any = None,
    verdicts: Mapping[str, Verdict] | None = None,
    sent: Container[str] = frozenset(),
    said: Sequence[str] = (),
) -> Bundle:
    """Returns payloads side by side.

    Args:
        conversions: API mode -> `Conversion` (with a trace, to be aligned), or the error that came instead.
        source: The stack they were made of; without it only the payloads are shown.
        verdicts: API mode -> what the types of its SDK say.
        sent: Which of them were really sent.
        said: What is to be said above them, a line each.
    """
    columns = [column_of(api, found, (verdicts or {}).get(api, Verdict())) for api, found in conversions.items()]
    columns = [msgspec.structs.replace(column, is_sent=column.api in sent) for column in columns]
    said = [line(each, 300) for each in said]
    text = "\n".join([*said, *[f"{column.api}: {_told(column)}" for column in columns]])
    told = "".join([f"{each}\n" for each in said])
    if source is None:
        return _page(payload_page(columns, said), text, lambda width: told + payload_text(columns, width))
    messages, beside, now = plain(source.messages), frame_of(source), limits.current()
    shown = comparison(messages, columns, **beside, most=now.most(MOST), limits=now, said=said)
    return _page(shown, text, lambda width: told + comparison_text(messages, columns, width, **beside))


def frame_of(stack: Any) -> dict[str, Any]:
    """Returns what a stack holds beside its messages, as plain data: settings, tools, the form of the answer."""
    return {
        "settings": plain(stack.settings),
        "tools": plain([definition(tool) for tool in stack.tools]),
        "output_schema": schema_of(stack),
    }


def schema_of(stack: Any) -> Any:
    """Returns the form of a stack's answer; None also of one that is none: each column says what is wrong with it."""
    import llmneutral

    try:
        return plain(stack.to_output_json_schema())
    except llmneutral.LLMNeutralError:
        return None


def column_of(api: str, found: Any, verdict: Verdict) -> Column:
    """Returns a conversion, or the error that came instead of it, as a column of the comparison."""
    if isinstance(found, BaseException):
        changes = plain(getattr(found, "changes", ()))
        return Column(api=api, error=plain(error_record(found)), changes=changes)
    return Column(
        api=api,
        payload=plain(found.to_json()),
        trace={pointer: tuple(refs) for pointer, refs in (found.trace or {}).items()},
        changes=plain(found.changes),
        endpoint=tuple(found.endpoint),
        model=plain(found.target.model),
        checked=verdict.checked,
        unchecked=verdict.unchecked,
        problems=[
            {"path": str(each.path), "message": plain(str(each.message)), "pointer": str(each.pointer)}
            for each in verdict.problems
        ],
    )


def response_record(response: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a bare answer as the record of an exchange of which nothing else is known."""
    status = "refused" if response.get("refusal") else "complete" if response.get("complete") else "incomplete"
    return {
        "status": "failed" if response.get("error") else status,
        "model": response.get("model"),
        "response": response,
        "error": response.get("error"),
    }


def definition(tool: Any) -> Any:
    """Returns a tool as its definition in OpenAI's format, as far as it tells one."""
    return tool.to_openai() if hasattr(tool, "to_openai") else {"name": getattr(tool, "name", None) or _name(tool)}


def _name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        given = tool.get("function", tool)
        return str(given.get("name")) if isinstance(given, Mapping) else "?"
    return str(getattr(tool, "__name__", type(tool).__name__))


def _told(column: Column) -> str:
    if column.error is not None:
        return f"{column.error.get('name')}: {column.error.get('message')}"
    return f"{' '.join(column.endpoint or ())}, {count(len(column.changes), 'change')}"


def _page(shown: Html, text: str, printed: Printed | None = None) -> Bundle:
    return Bundle({"text/html": str(shown), "text/plain": visible(text)}, printed=printed)


def _view(view: View) -> Bundle:
    return Bundle({"text/html": str(view.html), "text/plain": view.text})


_MAKERS: tuple[tuple[type, Callable[[Any], Bundle]], ...] = (
    (Exchange, exchange_bundle),
    (Exchanges, exchanges_bundle),
    (View, _view),
)
