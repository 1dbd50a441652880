"""TAB in the lines of the magics, and behind `{{` anywhere."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llmneutral_widgets.options import Grammar, expression_start
from llmneutral_widgets.prompt_line import CALL_OPTIONS, GRAMMARS, PROMPT

EXPRESSION = r"(?s).*\{\{\s*\w*$"
"""What stands before the cursor when a name of `{{name}}` is being typed."""
_MOST = 200


def line_completer(grammar: Grammar) -> Callable[[Any, Any], list[str]]:
    """Returns a completer for the line of one magic, as IPython's hook `complete_command` calls it."""

    def complete(ip: Any, event: Any) -> list[str]:
        before = event.text_until_cursor.partition(event.command)[2]
        if expression_start(before) is not None:
            return names_completer(ip, event)
        current = "" if not before or before[-1].isspace() else before.split()[-1]
        # IPython completes the end of a word, from the last of its own separators on.
        lead = current[: len(current) - len(event.symbol)] if current.endswith(event.symbol) else ""
        found = grammar.complete(before, _sources(ip))
        return [name[len(lead) :] for name in found if name.startswith(lead)][:_MOST]

    return complete


def names_completer(ip: Any, event: Any) -> list[str]:
    """Completes the names of the user's variables behind `{{`."""
    start = expression_start(event.text_until_cursor)
    if start is None:
        return []
    hidden = set(getattr(ip, "user_ns_hidden", ()))
    names = [name for name in ip.user_ns if name not in hidden and not name.startswith("_")]
    return sorted([name for name in [*names, "In", "Out", "last_error"] if name.startswith(start)])


def completers() -> dict[str, Callable[[Any, Any], list[str]]]:
    """Returns the completers by the magic's name, as it stands in a line."""
    found = {name: line_completer(grammar) for name, grammar in GRAMMARS.items()}
    found["%prompt"] = line_completer(PROMPT)
    return found


def _sources(ip: Any) -> Mapping[str, Callable[[str], Iterable[str]]]:
    """What there is of each kind of value, given its beginning."""
    return {
        "providers": lambda _: _session().providers.names(),
        "models": lambda _: _models(),
        "files": lambda start: [*glob.glob(f"{glob.escape(start)}*")][:_MOST],
        "callables": lambda _: _of_user(ip, lambda value: callable(value) and not isinstance(value, type)),
        "classes": lambda _: _of_user(ip, lambda value: isinstance(value, (type, dict))),
        "settings": lambda _: _settings(),
        "stacks": lambda _: list(_session().conversations),
        "apis": lambda _: _apis(),
    }


def _session() -> Any:
    from llmneutral_widgets.session import current

    return current()


def _models() -> list[str]:
    return [row["model"] for row in _session().providers.rows() if row["model"]]


def _settings() -> list[str]:
    import llmneutral

    return [*llmneutral.SETTINGS, *CALL_OPTIONS]


def _apis() -> list[str]:
    import llmneutral

    return [*llmneutral.API_MODES, "all"]


def _of_user(ip: Any, is_wanted: Callable[[Any], bool]) -> list[str]:
    hidden = set(getattr(ip, "user_ns_hidden", ()))
    return [name for name, value in ip.user_ns.items() if name[0] != "_" and name not in hidden and is_wanted(value)]
