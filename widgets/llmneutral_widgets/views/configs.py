"""Who could answer: the configs by name, and what each of them lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llmneutral_widgets.views.page import LEFT, Html, badge, count, fold, join, line, page, tag

_HEADS = ("name", "API mode", "model", "SDK", "key")
ABOUT = {
    "local": "embedded model",
    "local-responses": "embedded model",
    "local-messages": "embedded model",
    "ollama": "your own, by Ollama",
    "server": "your own, at an address",
    "codex": "a program with its own login",
    "replay": "plays recordings: replay:FILE",
    "dummy": "answers nothing",
}
"""What a name that is no provider's stands for."""
ENV_REMEDY = ": %provider key --env takes it from .env"
"""What is said of a variable that the `.env` of the working folder names."""
UNLISTED = frozenset({"replay", "dummy"})
"""Names that answer nothing as they stand."""

NOT_USED = "{} of the environment is not used"
"""What is said of a variable where a key was typed, say, and is used instead of it."""

_FEW = 20
"""Characters of what is missing in a label."""

Row = Mapping[str, Any]


def offered(rows: Sequence[Row], current: str | None = None) -> list[Row]:
    """Returns the rows that a list offers: what can answer now comes first, what never will is left out.

    Args:
        rows: What `DriversConfig.status()` tells, as plain data.
        current: Name of the config in effect: it is never left out.
    """
    shown = [row for row in rows if row.get("name") not in UNLISTED or row.get("name") == current]
    return sorted(shown, key=lambda row: lacking(row) is not None)


def lacking(row: Row) -> str | None:
    """Returns in a few words what a config lacks to answer; None if nothing is known to be missing."""
    if not row.get("sdk_installed"):
        return "SDK not installed"
    if row.get("key_variable") and not row.get("key_set"):
        return f"no {row.get('key_words') or 'key'}"
    return line(short(row), 60) or None


def short(row: Row) -> str:
    """Returns what is missing beside SDK and key, without its remedy in code; "" if nothing is."""
    return str(row.get("problem") or "").partition(":")[0].partition(" (")[0]


def key_words(row: Row) -> str | None:
    """Returns where a key is of that is not the environment's; None if there is none."""
    how, unused = row.get("own_key"), row.get("unused_key")
    if not how or not row.get("key_set"):
        return None
    return f"{how}; {NOT_USED.format(unused)}" if unused else str(how)


def lacks_model(row: Row) -> bool:
    """Whether all that is missing beside SDK and key is the name of a model."""
    return short(row) in ("no model", "no deployment")


def remedy(row: Row) -> str | None:
    """Returns what to do for a config that cannot answer yet, or which key is not used; None if there is neither."""
    name, missing = row.get("name"), lacking(row)
    if missing is None:
        return f"the key of {name} is {key_words(row)}" if row.get("unused_key") else None
    if not row.get("sdk_installed"):
        extra = f": pip install 'llmneutral[{row['extra']}]', then restart the kernel" if row.get("extra") else ""
        return f"{name} cannot answer yet: {row.get('sdk')} is not installed{extra}"
    if missing == "no key":
        taken = "%provider key --env takes its key from .env, or " if row.get("in_env_file") else ""
        its = "for it" if taken else "for its key"
        return f"{name} cannot answer yet: {taken}%provider key {name} asks {its}, or set {row.get('key_variable')}"
    if lacks_model(row):
        return f"{name} cannot answer yet: type the name of a model beside it"
    return f"{name} cannot answer yet: {row.get('problem') or missing}"


def label(row: Row) -> str:
    """Returns a config as a list names it: with what it is, where its name does not tell, and what it lacks.

    A list is as wide as its longest label: what takes more than a few words is for `remedy` to say.
    """
    about, lacks = ABOUT.get(str(row.get("name")), ""), lacking(row) or ""
    said = [word for word in (re.split(r", | with ", about)[0], lacks if len(lacks) <= _FEW else "not ready") if word]
    return f"{row.get('name')} ({'; '.join(said)})" if said else str(row.get("name"))


def picked_page(rows: Sequence[Row], current: str, said: str) -> Html:
    """Returns who answers in one line, with the table of configs folded below it.

    Args:
        rows: As of `configs_page`.
        current: Name of the config in effect.
        said: Who answers, in words.
    """
    others = fold(f"{count(len(rows), 'provider')}, and what each of them lacks", _table(rows, current))
    return page(tag("p", tag("b", said), " answers"), others, sections=("usage",))


def configs_page(rows: Sequence[Mapping[str, Any]], *, current: str | None = None) -> Html:
    """Returns the table of configs as one output.

    Args:
        rows: What `DriversConfig.status()` tells, as plain data; of a key only whether it is set.
        current: Name of the config in effect.
    """
    return page(_table(rows, current), sections=("usage",))


def _table(rows: Sequence[Row], current: str | None) -> Html:
    heads = tag("tr", *[tag("th", name, scope="col", style=LEFT) for name in _HEADS])
    shown = sorted(rows, key=lambda row: lacking(row) is not None)
    body = [_row(row, row.get("name") == current) for row in shown]
    return tag("div", tag("table", tag("thead", heads), tag("tbody", *body)), class_="wide")


def _row(row: Mapping[str, Any], is_current: bool) -> Html:
    mark = [" ", badge("in effect", "good")] if is_current else []
    about = ABOUT.get(str(row.get("name")))
    mark += [tag("div", tag("small", about))] if about else []
    cells = [row.get("api_mode") or "–", row.get("model") or "–", _sdk(row), join([_key(row), _problem(row)])]
    first = tag("th", str(row.get("name")), *mark, scope="row", style=LEFT)
    return tag("tr", first, *[tag("td", cell, style=LEFT) for cell in cells])


def _problem(row: Row) -> Html:
    """What else is missing, in short; its place tells all of it."""
    told = str(row.get("problem") or "")
    if lacks_model(row):
        told = f"{short(row)}: %provider {row.get('name')}/MODEL"
    said = line(told.partition(" (")[0], 60)
    return tag("div", badge("not ready", "warn"), tag("span", f" {said}", title=told)) if told else Html()


def _sdk(row: Mapping[str, Any]) -> Html:
    sdk = str(row.get("sdk") or "–")
    if row.get("sdk_installed"):
        return join([sdk])
    extra = f": pip install 'llmneutral[{row['extra']}]'" if row.get("extra") else ""
    return join([badge("not installed", "warn"), f" {sdk}{extra}"])


def _key(row: Mapping[str, Any]) -> Html:
    variable, words = row.get("key_variable"), row.get("key_words")
    if not variable:
        return join(["no key needed"])
    if row.get("key_set"):
        return join([badge("set", "good"), f" {key_words(row) or words or variable}"])
    in_file = ENV_REMEDY if row.get("in_env_file") else ""
    if words:
        return join([badge("not found", "warn"), f" {words} (or {variable}{in_file})"])
    return join([badge("not set", "warn"), f" {variable}{in_file}"])
