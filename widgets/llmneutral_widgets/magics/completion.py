"""TAB in the lines of the magics, and behind `{{` in them and in the text of a `%%prompt`."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from llmneutral_widgets.lines.options import Offer, expression_start
from llmneutral_widgets.lines.prompt_line import CALL_OPTIONS, GRAMMARS, NOT_ON_A_LINE, PROMPT, VALUES
from llmneutral_widgets.views.configs import UNLISTED

_LINE = re.compile(r"\s*(?:[\w.]+\s*=\s*)?(%{1,2}\w+)\s(.*)", re.DOTALL)
_CELL = re.compile(r"\s*%%prompt\b")
_ASKED = re.compile(r"(?:^|\s)(?:-p|--provider)[\s=]+([\w.-]+)")
"""Who is asked, by name."""
_MOST = 200


def offered(ip: Any, cell: str, before: str) -> Offer:
    """Returns what may stand where the cursor is; nothing where the line is none of ours.

    Args:
        ip: The shell.
        cell: The text of the cell.
        before: The line of the cursor, up to it.
    """
    found = _LINE.fullmatch(before)
    grammar = {**GRAMMARS, "%prompt": PROMPT}.get(found[1]) if found else None
    if grammar is None and not _CELL.match(cell):
        return Offer("")
    if (start := expression_start(before)) is not None:
        return Offer(start, [name for name in _names(ip) if name.startswith(start)][:_MOST])
    if grammar is None or found is None:
        return Offer("")
    offer = grammar.complete(found[2], _sources(ip, found[2]))
    return offer._replace(words=offer.words[:_MOST])


class _Nothing(list[Any]):
    """No completions, which IPython takes for some: it lets its other matchers speak beside a list that is empty."""

    def __len__(self) -> int:
        return 1


@cache
def matcher_of(ip: Any) -> Callable[[Any], Any]:
    """Returns what IPython's completer asks before all others, which are silent where it has something to offer."""
    from IPython.core import completer

    @completer.context_matcher(identifier="llmneutral", priority=100)  # type: ignore[untyped-decorator]
    def match(context: Any) -> Any:
        try:
            offer = offered(ip, context.full_text, context.text_until_cursor)
        except Exception:  # noqa: BLE001 - it would be printed into the reader's line, with all its frames
            offer = Offer("")
        shown = [completer.SimpleCompletion(word, type="magic") for word in offer.words]
        shown = shown or (_Nothing() if offer.is_known else shown)
        return {"completions": shown, "matched_fragment": offer.typed, "suppress": True, "ordered": True}

    made: Callable[[Any], Any] = match
    return made


def _sources(ip: Any, line: str) -> Mapping[str, Callable[[str], Iterable[str]]]:
    """What there is of each kind of value, given its beginning."""
    return {
        "providers": _providers,
        "keyed": lambda _: [row["name"] for row in _session().providers.rows() if row["key_variable"]],
        "models": lambda _: _models(line),
        "files": _files,
        "env_files": lambda start: list(dict.fromkeys([*_files(start or ".env"), *_files(start)])),
        "loadable": lambda start: _conversations(start, is_saved=False),
        "savable": lambda start: _conversations(start, is_saved=True),
        "callables": lambda _: _of_user(ip, lambda value: callable(value) and not isinstance(value, type)),
        "classes": lambda _: _of_user(ip, lambda value: isinstance(value, (type, dict))),
        "settings": _settings,
        "stacks": lambda _: list(_session().conversations),
        "apis": _apis,
    }


def _session() -> Any:
    from llmneutral_widgets.session import current

    return current()


def _files(start: str, ends: tuple[str, ...] = ("",)) -> list[str]:
    """The files and folders whose path begins so, the files with one of some ends; folders end in a slash."""
    home = os.path.expanduser("~") if start.startswith("~/") else ""
    found = glob.glob(f"{glob.escape(home + start[1:] if home else start)}*")
    found = [path for path in found if path.endswith(ends) or os.path.isdir(path)]
    named = [f"~{path[len(home) :]}" if home else path for path in found]
    return [f"{name}/" if os.path.isdir(path) else name for name, path in zip(named, found, strict=True)][:_MOST]


def _conversations(start: str, *, is_saved: bool) -> list[str]:
    from llmneutral_widgets.magics.keeping import LOADED, SAVED

    return _files(start, SAVED if is_saved else LOADED)


def _providers(start: str) -> list[str]:
    """Names of configs; behind a name and a slash its model; behind `replay:` files."""
    if start.startswith("replay:"):
        return [f"replay:{file}" for file in _files(start.removeprefix("replay:"))]
    rows = _session().providers.rows()
    if "/" in start:
        return [f"{row['name']}/{row['model']}" for row in rows if row["model"]]
    return [*[row["name"] for row in rows if not row["name"].startswith("replay:")], "replay:"]


def _models(line: str) -> list[str]:
    """Models of configs, first that of the one that is asked: by a line with `-p`, or because it is in effect."""
    import llmneutral

    asked = _ASKED.findall(line) or ([llmneutral.Defaults.base.name] if llmneutral.Defaults.is_set else [])
    rows = [row for row in _session().providers.rows() if row["model"] and row["name"] not in UNLISTED]
    return [row["model"] for row in sorted(rows, key=lambda row: row["name"] not in asked)]


def _settings(start: str) -> list[str]:
    """Names of settings; behind a name and `=` the values that it takes, where it is a few."""
    import llmneutral

    key, equals, _ = start.partition("=")
    if not equals:
        return [name for name in (*llmneutral.SETTINGS, *CALL_OPTIONS) if name not in NOT_ON_A_LINE]
    values = VALUES.get(key) or (("true", "false") if _is_flag(llmneutral.SETTINGS.get(key)) else ())
    return [f"{key}={value}" for value in values]


def _is_flag(setting: Any) -> bool:
    """Whether a setting is yes or no, and nothing else."""
    import llmneutral

    def takes(value: Any) -> bool:
        try:
            setting.check("", value)
        except llmneutral.LLMNeutralError:
            return False
        return True

    return setting is not None and [takes(value) for value in (True, False, "?")] == [True, True, False]


def _apis(start: str) -> list[str]:
    """API modes; where none begins so, the names of providers that stand for one (`openai`)."""
    import llmneutral
    from llmneutral_widgets.comparing import is_api, registered

    found = [*registered(), "all"]
    is_mode = any([name.startswith(start) for name in found])
    return found if is_mode else [name for name in llmneutral.CONFIGS if is_api(name)]


def _names(ip: Any) -> list[str]:
    """The user's variables, and what else an expression may begin with."""
    return sorted({*_of_user(ip, lambda _: True), "In", "Out", "last_error"})


def _of_user(ip: Any, is_wanted: Callable[[Any], bool]) -> list[str]:
    hidden = set(getattr(ip, "user_ns_hidden", ()))
    own = [(name, value) for name, value in list(ip.user_ns.items()) if isinstance(name, str) and name not in hidden]
    return [name for name, value in own if name[:1] != "_" and _is(is_wanted, value)]


def _is(is_wanted: Callable[[Any], bool], value: Any) -> bool:
    """Whether a value is wanted; one that cannot be looked at (a proxy of nothing) is not."""
    try:
        return is_wanted(value)
    except Exception:  # noqa: BLE001 - its `__class__` may run code of anybody's
        return False
