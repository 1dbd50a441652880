"""`%provider`, `%stack` and `%usage`: who answers, what the conversation is, what it cost."""

from __future__ import annotations

import getpass
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from llmneutral_widgets import env_files, session
from llmneutral_widgets.bundles import Bundle, stack_bundle
from llmneutral_widgets.lines.interpolation import only_place
from llmneutral_widgets.lines.options import Grammar, Line, OptionError, nearest, setting, whole
from llmneutral_widgets.lines.prompt_line import PROVIDER, STACK, USAGE
from llmneutral_widgets.magics import keeping
from llmneutral_widgets.magics.prompting import Here
from llmneutral_widgets.notes import note
from llmneutral_widgets.pricing import own_prices, priced
from llmneutral_widgets.providers import name_and_model
from llmneutral_widgets.scrub import plain
from llmneutral_widgets.views.configs import ENV_REMEDY, NOT_USED, configs_page, key_words, lacks_model
from llmneutral_widgets.views.page import LEFT, count, page, tag

_RANGE = re.compile(r"(-?\d*):(-?\d*)")


def read(grammar: Grammar, line: str) -> Line | None:
    """Reads a line; shows the help text and returns None where that is asked for."""
    found = grammar.parse(line)
    if found.values.get("help"):
        note(grammar.help(), as_typed=True)
        return None
    return found


def alone(words: Sequence[str], most: int, what: str) -> None:
    """Refuses more words than a magic takes.

    Raises:
        OptionError: If there are more.
    """
    if len(words) > most:
        raise OptionError(f"{what}; {' '.join(words[most:])} is too much")


# ----------------------------------------------------------------------------------------------------------------------
# %provider


def provider(here: Here, line: str) -> None:
    """Shows and sets who answers."""
    found = read(PROVIDER, line)
    if found is None:
        return
    command, *rest = found.words or ("",)
    if found.values.get("env"):
        _take_keys(here, command, rest)
    elif found.values.get("forget"):
        _forget_key(here, command, rest)
    elif command == "":
        _show_picker(here)
    elif command == "list":
        alone(rest, 0, "%provider list takes no name")
        _list_providers(here)
    elif command == "key":
        _ask_key(here, rest)
    elif command == "preset":
        _add_preset(here, rest)
    else:
        alone(rest, 0, "%provider takes one name")
        _set_provider(here, command)


def _show_picker(here: Here) -> None:
    from llmneutral_widgets import panels

    if not here.is_rich:
        _list_providers(here)
        return
    panels.picker(here.session.providers).show()


def _list_providers(here: Here) -> None:
    import llmneutral

    rows = plain(here.session.providers.rows())
    current = llmneutral.Defaults.drivers_config.name
    lines = [
        f"{'>' if row['name'] == current else ' '} {row['name']:<16} {row['api_mode']:<20} {row['model'] or '–':<24} "
        f"{'' if row['sdk_installed'] else 'SDK not installed, '}{_key_words(row)}"
        for row in rows
    ]
    here.publish(Bundle({"text/html": str(configs_page(rows, current=current)), "text/plain": "\n".join(lines)}))


def _key_words(row: Mapping[str, Any]) -> str:
    if not row["key_variable"]:
        return "no key needed"
    variable, words = row["key_variable"], row.get("key_words")
    in_file = ENV_REMEDY if row.get("in_env_file") else ""
    if own := key_words(row):
        return f"{variable} set: {own}"
    if words:
        return f"{words} set" if row["key_set"] else f"{words} not found (or {variable}{in_file})"
    return f"{variable} set" if row["key_set"] else f"{variable} not set{in_file}"


def _set_provider(here: Here, name: str) -> None:
    import llmneutral

    defaults, config = llmneutral.Defaults, here.session.providers.config(name)
    defaults.drivers_config = config
    status = config.status()
    said = [f"{_shown(config)} answers from now on"]
    if lacks_model(msgspec.to_builtins(status)):
        said = [f"{name} answers once a model is named: %provider {name}/MODEL, or -m MODEL with a question"]
    elif status.problem:
        said.append(status.problem)
    if not status.sdk_installed:
        said.append(f"{status.sdk} is not installed")
    if status.key_variable and not status.key_set:
        said.append(f"{status.key_variable} is not set" + (f", and no {words}" if (words := status.key_words) else ""))
        if status.key_variable in env_files.named_here():
            said.append(ENV_REMEDY.removeprefix(": "))
    if status.key_variable and (unused := here.session.providers.own_key(name_and_model(name)[0])[1]):
        said.append(NOT_USED.format(unused))
    if defaults.drivers_config is not config:
        said.append(f"inside this `with` it is still {defaults.drivers_config.name}")
    note("; ".join(said))


def _ask_key(here: Here, words: Sequence[str]) -> None:
    if len(words) != 1:
        raise OptionError("%provider key takes the name of a provider, and never the key itself: it is asked for")
    status = here.session.providers.config(words[0]).status()
    if status.key_variable is None:
        raise OptionError(f"{words[0]} needs no key")
    typed = getpass.getpass(f"{status.key_variable}: ").strip()
    if not typed:
        raise OptionError("no key was typed, and nothing has changed")
    here.session.providers.set_key(words[0], typed)
    unused = here.session.providers.own_key(name_and_model(words[0])[0])[1]
    back = f"; {NOT_USED.format(unused)}, until %provider key {words[0]} --forget" if unused else ""
    note(f"{words[0]} has a key, in this process only{back}")


def _forget_key(here: Here, command: str, words: Sequence[str]) -> None:
    if command != "key" or len(words) != 1:
        raise OptionError("--forget stands behind key and a name: %provider key NAME --forget")
    here.session.providers.forget_key(words[0])
    status = here.session.providers.config(words[0]).status()
    left = "is used again" if status.key_set else "is not set"
    note(f"the key of {words[0]} is forgotten; {status.key_variable} {left}")


def _take_keys(here: Here, command: str, words: Sequence[str]) -> None:
    if command != "key":
        raise OptionError("--env stands behind key: %provider key --env [FILE]")
    alone(words, 1, "%provider key --env takes one file")
    note(env_files.take(here.session.providers, words[0] if words else env_files.FILE).told())


def _add_preset(here: Here, words: Sequence[str]) -> None:
    if len(words) < 2:
        raise OptionError("%provider preset takes a name, who is asked, and settings: preset fast openai temperature=0")
    name, target, *given = words
    config = here.session.providers.made(name, target).evolve(**dict(map(setting, given)))
    here.session.providers.keep(name, config, target)
    is_nameless = lacks_model(msgspec.to_builtins(config.status()))
    needs = f"; a model has to be named: -m MODEL, or -p {name}/MODEL" if is_nameless else ""
    note(f"-p {name} asks {_shown(config)}{needs}")


def _shown(config: Any) -> str:
    return f"{config.name} · {config.model}" if config.model else str(config.name)


# ----------------------------------------------------------------------------------------------------------------------
# %stack


def stack(here: Here, line: str) -> None:
    """Shows and keeps conversations."""
    found = read(STACK, line)
    if found is None:
        return
    command, *rest = found.words or ("",)
    act = _STACK_COMMANDS.get(command)
    if act is not None:
        act(here, rest)
        _bind_stack(here, found, here.session.conversation().kept)
        return
    words = [word for word in found.words if not _RANGE.fullmatch(word)]
    ranges = [word for word in found.words if _RANGE.fullmatch(word)]
    alone(words, 1, "%stack shows one conversation")
    alone(ranges, 1, "%stack shows one range")
    shown = _slice(ranges, bool(found.values.get("all")))
    given = keeping.stack_at(words[0], here.namespace) if words else None
    if given is None:
        _show_stack(here, words[0] if words else None, shown)
        _bind_stack(here, found, here.session.conversation(words[0] if words else None).kept)
    else:
        here.publish(stack_bundle(given, name=_told_name(words[0], vars(given)), shown=shown))
        _bind_stack(here, found, lambda: given)


def _bind_stack(here: Here, found: Line, stack: Callable[[], Any]) -> None:
    """Binds the conversation to the variable that `-o` names."""
    if out := found.values.get("out"):
        here.ip.user_ns[out] = stack()


def _told_name(name: str, frame: Mapping[str, Any]) -> str:
    """The name of a conversation, and what goes along with every question beside its tools, which are counted."""
    return " · ".join([name, *keeping.frame_words({**frame, "tools": ()})])


def _slice(ranges: Sequence[str], everything: bool) -> slice | None:
    if everything:
        return slice(None)
    if not ranges:
        return None
    start, _, stop = ranges[0].partition(":")
    return slice(int(start) if start else None, int(stop) if stop else None)


def _show_stack(here: Here, name: str | None, shown: slice | None) -> None:
    known = here.session.conversations
    if name is not None and name not in known:
        hint = nearest(name, [*known, *_STACK_COMMANDS])
        raise OptionError(f"there is no conversation {name}, nor a command of that name; {hint}")
    conversation = here.session.known(name)
    here.publish(
        stack_bundle(
            conversation.stack(),
            name=_told_name(conversation.name, conversation.frame()),
            marks=conversation.marks(),
            tokens=conversation.tokens(),
            makers=conversation.makers(),
            shown=shown,
        )
    )


def _list_stacks(here: Here, words: Sequence[str]) -> None:
    alone(words, 0, "%stack list takes nothing")
    found = session.summary(here.session.conversations, here.session.current)
    heads = tag("tr", *[tag("th", head, scope="col", style=LEFT) for head in ("conversation", "exchanges", "messages")])
    rows = []
    for name, turns, messages, is_current in found:
        first = tag("th", f"{name}{' (current)' if is_current else ''}", scope="row", style=LEFT)
        rows.append(tag("tr", first, *[tag("td", str(n), style=LEFT) for n in (turns, messages)]))
    table = tag("table", tag("thead", heads), tag("tbody", *rows))
    text = "\n".join([f"{'>' if on else ' '} {name}: {count(turns, 'exchange')}" for name, turns, _, on in found])
    here.publish(Bundle({"text/html": str(page(table, sections=("usage",))), "text/plain": text}))


def _use_stack(here: Here, words: Sequence[str]) -> None:
    if len(words) != 1:
        raise OptionError("%stack use takes the name of a conversation; a new name makes an empty one")
    name, given = words[0], keeping.stack_at(words[0], here.namespace)
    if given is not None:
        name = str(only_place(name)).strip()
        keeping.taken(here, name, given, words[0])
    is_new = name not in here.session.conversations
    here.session.current = here.session.conversation(name).name
    note(f"questions go to the conversation {name}{_beginning(here, name) if is_new else ''}")


def _beginning(here: Here, name: str) -> str:
    import llmneutral

    said = ", which begins empty: there was none of this name"
    if isinstance(here.namespace.get(name), llmneutral.PromptStack):
        said += f"; %stack use {{{{{name}}}}} takes the PromptStack {name} of yours"
    return said


def _reset_stack(here: Here, words: Sequence[str]) -> None:
    alone(words, 1, "%stack reset takes one name")
    conversation = here.session.known(words[0] if words else None)
    number = len(conversation.turns)
    conversation.turns.clear()
    note(f"{conversation.name} is empty; {count(number, 'exchange')} taken out")


def _drop_turns(here: Here, words: Sequence[str]) -> None:
    if len(words) != 1:
        raise OptionError("%stack drop takes how many of the last exchanges to take out")
    try:
        number = whole(1)(words[0])
    except OptionError as error:
        raise OptionError(f"%stack drop {error}") from None
    conversation = here.session.conversation()
    if number > len(conversation.turns):
        there = count(len(conversation.turns), "exchange") if conversation.turns else "no exchange"
        raise OptionError(f"%stack drop {number}: {conversation.name} holds {there}, and nothing is taken out")
    note(f"{count(conversation.drop(number), 'exchange')} taken out of {conversation.name}")


_STACK_COMMANDS: dict[str, Callable[[Here, Sequence[str]], None]] = {
    "list": _list_stacks,
    "use": _use_stack,
    "reset": _reset_stack,
    "drop": _drop_turns,
    "save": keeping.save,
    "load": keeping.load,
}


# ----------------------------------------------------------------------------------------------------------------------
# %usage


def usage(here: Here, line: str) -> Any:
    """Shows tokens and time of this session; returns them as a DataFrame."""
    found = read(USAGE, line)
    if found is None:
        return None
    alone(found.words, 0, "%usage takes no words")
    file = found.values.get("prices")
    own = here.session.prices if file is None else own_prices(file)
    if found.values.get("reset"):
        here.session.rows.clear()
        note("usage begins again")
        return None
    from llmneutral_widgets.tables import usage_frame

    rows, source = priced(here.session.rows, here.session.providers, own)
    return usage_frame(plain(rows), found.values.get("by"), source)
