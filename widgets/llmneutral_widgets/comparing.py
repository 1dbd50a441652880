"""The same conversation as several APIs would be sent it. Nothing is sent here, and no key is needed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any

import msgspec

from llmneutral_widgets.bundles import Bundle, Verdict, conversions_bundle, exchange_bundle
from llmneutral_widgets.exchange import MIME, Exchange
from llmneutral_widgets.lines.options import OptionError, nearest
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.views.changes import glossary, step_name
from llmneutral_widgets.views.page import LEFT, doc_link, join, page, tag, visible
from llmneutral_widgets.views.terminal import wrapped
from llmneutral_widgets.watching import EMBEDDED

MAIN = ("chat_completions", "codex_responses", "anthropic_messages")
"""The APIs that `%payload` shows beside the one that was asked."""

_OWN: Mapping[str, str] = MappingProxyType({})
"""Every column has the model of its provider."""

Found = dict[str, Any]
"""API mode -> `Conversion`, or the error that came instead."""


def apis_of(words: Iterable[str]) -> list[str]:
    """Returns API modes from what was written; `all` is every registered one.

    Raises:
        OptionError: If one is unknown.
    """
    found: list[str] = []
    for word in words:
        found += registered() if word == "all" else [_canonical(word)]
    return list(dict.fromkeys(found))


def models_of(given: str | Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    """Returns API mode -> the model of its column; that of "" is the model of every other one.

    Args:
        given: A model, for every column; texts `API=MODEL` or `MODEL`; or API -> model.

    Raises:
        OptionError: If an API is unknown, or has two models.
    """
    if isinstance(given, Mapping):
        pairs = [(str(api), str(model)) for api, model in given.items()]
    else:
        words = [given] if isinstance(given, str) else [*(given or ())]
        pairs = [(api, model) if equals else ("", api) for api, equals, model in [w.partition("=") for w in words]]
    found: dict[str, str] = {}
    for word, model in pairs:
        api = _canonical(word) if word else ""
        if not model.strip():
            raise OptionError(f"{word}= names no model")
        if found.setdefault(api, model.strip()) != model.strip():
            raise OptionError(f"{word or 'every column'} is given two models: {found[api]} and {model}")
    return found


def check_models(models: Mapping[str, str], apis: Sequence[str]) -> None:
    """Looks whether each model that was named has a column.

    Raises:
        OptionError: If one has none.
    """
    for api in models:
        if api and api not in apis:
            raise OptionError(f"-m {api}={models[api]}: {api} is no column that is converted here ({', '.join(apis)})")


def two_meanings(words: Iterable[str], providers: Providers) -> list[str]:
    """Returns what is to be said of short names that are both an API and a provider who is asked by another one."""
    modes = {str(row["name"]): str(row["api_mode"]) for row in providers.rows()}
    found = []
    for word in dict.fromkeys(words):
        mine = _canonical(word) if word in modes and is_api(word) else None
        if mine and mine != modes[word]:
            found.append(f"{word} is here the API {mine}; the provider {word} is asked by {modes[word]}")
    return found


def is_api(word: str) -> bool:
    """Whether a word names an API that can be converted to, or all of them."""
    return word == "all" or _mode(word) is not None


def registered() -> list[str]:
    """Returns every API mode that has a transport, those of other packages too."""
    import llmneutral

    found: Any = llmneutral.convert("?", to="all")
    return list(found)


def _canonical(word: str) -> str:
    mode = _mode(word)
    if mode is None:
        raise OptionError(f"unknown API {word}; {_near(word)}")
    return mode


def _mode(word: str) -> str | None:
    import llmneutral

    try:
        return str(llmneutral.resolve_api_mode(api_mode=word).mode)
    except llmneutral.ConfigurationError:
        return None


def _near(word: str) -> str:
    """A hint at what may have been meant: a mode that can be converted to, or its short name (`anthropic`)."""
    import llmneutral

    modes = registered()
    short = [name for name in [*llmneutral.CONFIGS, *[mode.partition("_")[0] for mode in modes]] if is_api(name)]
    near = nearest(word, [*dict.fromkeys(short)])
    return near if near.startswith("did") else nearest(word, [*modes, "all"]) + _short_names(modes)


def _short_names(modes: Sequence[str]) -> str:
    """The short names of the modes, in brackets."""
    import llmneutral

    found = [name for name in llmneutral.CONFIGS if name not in modes and "-" not in name and is_api(name)]
    return f" (short: {', '.join(found)})" if found else ""


def conversions(
    stack: Any,
    apis: Iterable[str],
    providers: Providers,
    driver: Any = None,
    model: Any = None,
    *,
    stream: bool = False,
    models: Mapping[str, str] = _OWN,
) -> Found:
    """Returns the conversions of a conversation, each for what would be asked: the driver, or its provider's own.

    Args:
        stack: The conversation.
        apis: API modes.
        providers: Who can be asked.
        driver: Whom to convert for where it speaks the API.
        model: Another model for that driver.
        stream: Whether the answer would be streamed: requests that are compared must not differ in that.
        models: As `models_of` returns them. The embedded model is no other one: its driver is not taken for them.
    """
    given = {"trace": True, **({"stream": True} if stream else {})}
    made: Found = {}
    for api in apis:
        named = models.get(api) or models.get("")
        whose = None if named and driver is not None and driver.provider == EMBEDDED else driver
        named = named or (model if driver is not None and driver.api_mode == api else None)
        made[api] = _converted(stack, api, providers, whose, {**given, **({"model": named} if named else {})})
    return made


def _converted(stack: Any, api: str, providers: Providers, driver: Any, given: Mapping[str, Any]) -> Any:
    import llmneutral

    try:
        if driver is not None and driver.api_mode == api:
            return driver.preview(stack, **given)
        for row in providers.rows():  # the first provider that speaks it, with a model of its own
            if row["api_mode"] == api and row["model"] and row["key_variable"]:
                return providers.config(row["name"]).prompt_driver.preview(stack, **given)
        return llmneutral.convert(stack, api, **given)
    except llmneutral.LLMNeutralError as error:
        return error


def verdicts(found: Mapping[str, Any]) -> dict[str, Verdict]:
    """Returns what the types of each API's own SDK say of its payload; an SDK that is not installed says nothing."""
    return {api: _verdict(made) for api, made in found.items() if not isinstance(made, BaseException)}


def _verdict(conversion: Any) -> Verdict:
    import llmneutral

    try:
        judge = llmneutral.validator(conversion.api)
        return Verdict(f"{judge.judge} types", judge(conversion))
    except llmneutral.MissingExtraError:
        return Verdict(unchecked="SDK not installed")
    except llmneutral.LLMNeutralError:  # an API of another package, which no SDK describes
        return Verdict(unchecked="no SDK knows this API")


def column_name(taken: Container[str], api: str, provider: str | None, model: str | None) -> str:
    """Returns what a payload is called: by its API; with who was asked where another one is called that already."""
    for name in (api, f"{api} ({provider})", f"{api} ({provider}/{model})"):
        if name not in taken:
            return name
    return next(name for n in count(2) if (name := f"{api} ({provider}/{model}, {n})") not in taken)


def compared(
    found: Mapping[str, Any], stack: Any, sent: Container[str] = frozenset(), said: Sequence[str] = ()
) -> Bundle:
    """Returns conversions side by side, with the conversation they were made of.

    Args:
        found: API mode -> `Conversion`, or the error that came instead.
        stack: The conversation; None shows the payloads alone.
        sent: Which of them were really sent.
        said: What is to be said above them, a line each.
    """
    return conversions_bundle(found, stack, verdicts(found), sent, said)


def changes_bundle(found: Mapping[str, Any]) -> Bundle:
    """Returns only what was changed: one row for each change, with the blocks it concerns."""
    rows, lines, changes = [], [], []
    for api, conversion in found.items():
        for change in plain(getattr(conversion, "changes", ())):
            where = ", ".join([f"{ref[0]}.{ref[1]}" for ref in change["refs"]]) or "–"
            said = [change["why"], " ", doc_link(change.get("doc"))]
            cells = [tag("mark", change["kind"]), where, step_name(change["step"]), join(said)]
            rows.append(tag("tr", tag("th", api, scope="row", style=LEFT), *[tag("td", c, style=LEFT) for c in cells]))
            changes.append(change)
            lines.append(f"{api}: {change['kind']} {where} by {change['step']}: {change['why']}")
    if not rows:
        nothing = "Nothing was changed: every block has its exact place."
        return Bundle({"text/html": str(page(tag("p", nothing))), "text/plain": nothing})
    heads = tag("tr", *[tag("th", head, scope="col", style=LEFT) for head in ("API", "change", "block", "step", "why")])
    table = tag("table", tag("thead", heads), tag("tbody", *rows))
    data = {"text/html": str(page(table, glossary(changes))), "text/plain": visible("\n".join(lines))}

    def printed(width: int) -> str:
        return "\n".join([part for said in lines for part in wrapped(said, width, rest="    ")])

    return Bundle(data, printed=printed)


def dry_bundle(exchange: Exchange, found: Mapping[str, Any], said: Sequence[str] = ()) -> Bundle:
    """Returns a dry run as it is shown and saved: payloads side by side, and the exchange's JSON."""
    shown = compared(found, exchange.stack, said=said)
    kept = exchange_bundle(exchange)
    return Bundle({**shown.data, MIME: kept.data[MIME]}, kept.metadata, shown.printed)


def dry_exchange(found: Mapping[str, Any], **fields: Any) -> Exchange:
    """Returns the exchange of something that was not sent; an API that refused has no payload in it."""
    good = {api: conversion for api, conversion in found.items() if not isinstance(conversion, BaseException)}
    made = Exchange(status="dry_run", conversions=good, **fields)
    return msgspec.structs.replace(made, history={**made.history, "sent": False})
