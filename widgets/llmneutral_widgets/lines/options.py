"""A magic's line: split into words, read, completed.

What must live here: how a line is written, and the tables of options. The line is parsed here and not by IPython, whose
parser leaves the quotes on values, splits `'{"k": 1}'` in two and stumbles over `don't`. This file knows no notebook:
its errors are `OptionError`, which the magics turn into a `UsageError`.
"""

from __future__ import annotations

import difflib
import json
import keyword
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

WORD = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|\{\{.{0,200}?\}\}|[^\s"'{]|\{)+)""")
"""A word: quoted parts, `{{…}}` with whatever stands in it, and other characters but blanks, in any mixture."""
_QUOTED = re.compile(r"""(\{\{.{0,200}?\}\})|"([^"]*)"|'([^']*)'""")
_EXPRESSION = re.compile(r"(?s).*\{\{\s*(\w*)$")
_KEY_WORDS = ("api_key", "key", "token", "secret", "password")

Reader = Callable[[str], Any]
Sources = Mapping[str, Callable[[str], Iterable[str]]]
"""Kind of value ("providers", "files" …) -> what there is of it, given its beginning."""


class OptionError(ValueError):
    """A line that cannot be read: names the word and the remedy, in one line."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One option of a magic.

    Attributes:
        names: How it is written, the short name first.
        field: Its key among the values.
        help: One line for the help text.
        metavar: What its value is called; None for a switch.
        read: Text of the value -> value; raises OptionError.
        repeats: Whether it may be given several times: its values are then a list.
        choices: The values there are, if it is a few.
        source: What completes its value (a key of `Sources`); the words of the line, for a switch.
        sets: What a switch sets.
    """

    names: tuple[str, ...]
    field: str
    help: str
    metavar: str | None = None
    read: Reader = str
    repeats: bool = False
    choices: tuple[str, ...] = ()
    source: str | None = None
    sets: Any = True


class Line(msgspec.Struct, frozen=True):
    """What a line says.

    Attributes:
        values: Field -> value, for the options that were given.
        words: The words that belong to no option, where the magic takes words.
        text: The rest of the line as it stands, where the magic takes a text.
    """

    values: Mapping[str, Any]
    words: tuple[str, ...] = ()
    text: str = ""


class Grammar(msgspec.Struct, frozen=True, kw_only=True):
    """How the line of one magic is written.

    Attributes:
        magic: Its name with the signs before it.
        about: One line: what it does.
        options: Its options.
        usage: Its forms, one a line.
        has_text: Whether what follows the options is a text; else they may stand anywhere among words.
        conflicts: Pairs of fields that contradict each other, with the reason.
        commands: The first words there are, for completion.
        sources: What completes words: command -> kind of each word behind it; "" is for lines without a command, and
            the last kind there is for all further words.
    """

    magic: str
    about: str
    options: tuple[Option, ...]
    usage: tuple[str, ...]
    has_text: bool = False
    conflicts: tuple[tuple[str, str, str], ...] = ()
    commands: tuple[str, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = {}

    def parse(self, line: str) -> Line:
        """Reads a line.

        Raises:
            OptionError: On an unknown option, a missing or wrong value, an open quote, or options that contradict.
        """
        valued = {name for option in self.options if option.metavar for name in option.names}
        if self.has_text:
            words, text = split(line, valued)
        else:
            words, text = all_words(line), ""
        values, rest = self._values(words)
        for one, other, why in self.conflicts:
            if one in values and other in values:
                raise OptionError(f"{self._name(one)} and {self._name(other)} contradict each other: {why}")
        return Line(values, tuple(rest), text)

    def _values(self, words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        values: dict[str, Any] = {}
        names: dict[str, str] = {}
        rest: list[str] = []
        given = iter(words)
        for word in given:
            if not is_option(word) or (not self.has_text and word[1].isdigit()):  # the latter is a number
                rest.append(word)
                continue
            name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            option = self._option(name)
            if option.metavar is None:
                if equals:
                    raise OptionError(f"{name} takes no value")
                read = option.sets
            else:
                read = self._read(option, name, value if equals else next(given, None))
            before = names.setdefault(option.field, name)
            _put(values, option, name, read, before)
        return values, rest

    def _option(self, name: str) -> Option:
        found = next((option for option in self.options if name in option.names), None)
        if found is None:
            known = [name for option in self.options for name in option.names]
            hint = nearest(name, known)
            if self.has_text and not hint.startswith("did"):
                hint = "put -- before a text that begins with a dash; -h lists the options"
            raise OptionError(f"{self.magic} has no option {name}; {hint}")
        return found

    def _read(self, option: Option, name: str, value: str | None) -> Any:
        if value is None:
            raise OptionError(f"{name} needs a value: {name} {option.metavar}")
        if option.choices and value not in option.choices:
            raise OptionError(f"{name} is one of {', '.join(option.choices)}; not {value}")
        try:
            return option.read(value)
        except OptionError as error:
            raise OptionError(f"{name} {error}") from None

    def _name(self, field: str) -> str:
        return next(option.names[-1] for option in self.options if option.field == field)

    def help(self) -> str:
        """Returns the help text: forms, options with their meanings."""
        heads = [", ".join(option.names) + (f" {option.metavar}" if option.metavar else "") for option in self.options]
        width = min(32, max(map(len, heads), default=0)) + 2
        lines = [self.about, "", *[f"  {form}" for form in self.usage], ""]
        for head, option in zip(heads, self.options, strict=True):
            words = option.help + (f" ({', '.join(option.choices)})" if option.choices else "")
            lines.append(f"  {head:<{width}}{words}" if len(head) < width else f"  {head}\n  {'':<{width}}{words}")
        return "\n".join(lines)

    def complete(self, before: str, sources: Sources) -> Offer:
        """Returns what may stand where the cursor is.

        Args:
            before: The line up to the cursor, without the magic's name.
            sources: What there is of each kind of value.
        """
        words, typed = typed_words(before)
        rest: list[str] = []
        option: Option | None = None
        kind = ""
        for word in words:
            if option is not None:  # the word is its value
                option = None
            elif is_option(word) and word != "--":
                name, equals, _ = word.partition("=")
                option = None if equals else self._valued(name)
                kind = kind or self._switched(name)
            elif self.has_text:  # the text has begun
                return Offer(typed)
            else:
                rest.append(word)
        if option is not None:
            return Offer(typed, _values_for(option, unclosed(typed), sources), _is_known(option))
        name, equals, value = typed.partition("=")
        if equals and (option := self._valued(name)) is not None:
            found = _values_for(option, unclosed(value), sources)
            return Offer(typed, [f"{name}={each}" for each in found], _is_known(option))
        if kind and not typed.startswith("-"):
            return Offer(typed, _from(kind, unclosed(typed), sources), is_known=True)
        is_known = not self.has_text and bool(self._kind(rest) or (self.commands and not rest))
        return Offer(typed, self._words_for(rest, unclosed(typed), sources), is_known)

    def _valued(self, name: str) -> Option | None:
        """The option of a name, if it takes a value."""
        return next((option for option in self.options if option.metavar and name in option.names), None)

    def _switched(self, name: str) -> str:
        """What kind of words stand behind a switch; "" where it says nothing of them."""
        return next((o.source or "" for o in self.options if o.metavar is None and name in o.names), "")

    def _words_for(self, before: Sequence[str], start: str, sources: Sources) -> list[str]:
        """What may stand for a word that is no option's value; an option, where there is nothing else."""
        if start.startswith("-"):
            return sorted(name for option in self.options for name in option.names if name.startswith(start))
        found = [command for command in self.commands if not before and command.startswith(start)]
        if kind := self._kind(before):
            found += [name for name in _from(kind, start, sources) if name not in found]
        return found if found or start else sorted(option.names[-1] for option in self.options)

    def _kind(self, before: Sequence[str]) -> str:
        """What kind of thing the next word is; "" where nobody knows."""
        kinds, place = self.sources.get(before[0] if before else "", ()), max(0, len(before) - 1)
        if not kinds and before and before[0] not in self.commands:
            kinds, place = self.sources.get("", ())[-1:], 0
        return kinds[place] if place < len(kinds) else ""


class Offer(NamedTuple):
    """What may stand in the place of the word at the cursor.

    Attributes:
        typed: That word, as it is typed.
        words: What it may become.
        is_known: Whether it can be nothing else: then no name of Python's can stand there, even where there is nothing
            to offer.
    """

    typed: str
    words: Sequence[str] = ()
    is_known: bool = False


# ----------------------------------------------------------------------------------------------------------------------
# Words


def split(line: str, valued: Collection[str]) -> tuple[list[str], str]:
    """Returns the option words, and the text after them as it stands.

    `-s "Be brief" don't stop` gives `["-s", "Be brief"]` and `don't stop`. `--`, or the first word that is no option,
    ends the options. Quotes are a shell's; a backslash is a backslash.

    Args:
        line: The line behind the magic's name.
        valued: The names of options that take a value.

    Raises:
        OptionError: If a quote is not closed among the options.
    """
    words: list[str] = []
    at = 0
    while (found := WORD.match(line, at)) and found[1].startswith("-"):
        at = found.end()
        if found[1] == "--":
            break
        words.append(unquoted(found[1]))
        if found[1] in valued:
            value = WORD.match(line, at)
            if value is None and line[at:].strip():
                raise OptionError(f"the quote after {found[1]} is not closed")
            if value is not None:
                words.append(unquoted(value[1]))
                at = value.end()
        if line[at : at + 1].strip():
            raise OptionError(f"the quote after {words[-1]} is not closed")
    return words, line[at:].strip()


def all_words(line: str) -> list[str]:
    """Returns every word of a line.

    Raises:
        OptionError: If a quote is not closed.
    """
    words: list[str] = []
    at = 0
    while found := WORD.match(line, at):
        words.append(unquoted(found[1]))
        at = found.end()
    if line[at:].strip():
        raise OptionError(f"the quote in {line[at:].strip()} is not closed")
    return words


def typed_words(before: str) -> tuple[list[str], str]:
    """Returns the words before the cursor, and the one that is being typed, as it stands."""
    words: list[str] = []
    at = begin = 0
    while found := WORD.match(before, at):
        at, begin = found.end(), found.start(1)
        if at == len(before):
            return words, found[1]
        if not before[at].isspace():  # a quote that is open yet
            return words, before[begin:]
        words.append(unquoted(found[1]))
    return words, before[at:].lstrip()


def unclosed(word: str) -> str:
    """Returns a word that is being typed without its quotes, the last of which may be open."""
    whole = unquoted(word)
    return whole[1:] if whole[:1] in ("'", '"') else whole


def in_quotes(word: str) -> str:
    """Returns a word as it has to be written on a line."""
    if WORD.fullmatch(word) and "'" not in word and '"' not in word:
        return word
    return next((f"{mark}{word}{mark}" for mark in "\"'" if mark not in word), word)


def unquoted(word: str) -> str:
    """Returns a word without its quotes; those inside `{{…}}` belong to the expression."""
    return _QUOTED.sub(lambda found: found[1] or found[2] or found[3] or "", word)


def is_option(word: str) -> bool:
    """Whether a word is written as an option."""
    return len(word) > 1 and word[0] == "-"


def nearest(word: str, known: Collection[str]) -> str:
    """Returns a hint at what may have been meant: the nearest names, or all of them if they are few."""
    begun = sorted(name for name in known if len(word) > 2 and name.startswith(word))
    close = begun if 0 < len(begun) <= 3 else difflib.get_close_matches(word, known, n=3, cutoff=0.7)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(sorted(known))}" if known else "there are none"


def a_kind(value: Any) -> str:
    """Returns what a value is, with its article: `an int`."""
    kind = type(value).__name__
    return f"an {kind}" if kind[:1] in "AEIOUaeiou" else f"a {kind}"


def expression_start(before: str) -> str | None:
    """Returns the beginning of a name in `{{name` at the end of a text, for completion; None where there is none."""
    found = _EXPRESSION.match(before)
    return found[1] if found else None


def _put(values: dict[str, Any], option: Option, name: str, read: Any, before: str) -> None:
    if option.repeats:
        values.setdefault(option.field, []).append(read)
    elif option.field in values and values[option.field] != read and option.metavar is None:
        raise OptionError(f"{before} and {name} contradict each other")
    elif option.field in values and values[option.field] != read:
        raise OptionError(f"{name} is given twice, as {values[option.field]} and as {read}")
    else:
        values[option.field] = read


def _is_known(option: Option) -> bool:
    return bool(option.choices or option.source)


def _values_for(option: Option, start: str, sources: Sources) -> list[str]:
    """What completes a value."""
    if option.choices:
        return [choice for choice in option.choices if choice.startswith(start)]
    return [] if option.source is None else _from(option.source, start, sources)


def _from(kind: str, start: str, sources: Sources) -> list[str]:
    """What there is of a kind: of a list, the last entry is completed; of `KEY=VALUE`, the key, then the value."""
    if kind not in sources:
        return []
    head, comma, last = start.rpartition(",") if kind == "apis" else ("", "", start)
    ending = "=" if kind == "settings" and "=" not in start else ""
    found = [in_quotes(f"{head}{comma}{name}{ending}") for name in sources[kind](last) if name.startswith(last)]
    return list(dict.fromkeys(found)) if kind == "models" else sorted(dict.fromkeys(found))  # the likely ones first


# ----------------------------------------------------------------------------------------------------------------------
# Values


def number(value: str) -> float:
    """Reads a finite number."""
    try:
        found = float(value)
    except ValueError:
        raise OptionError(f"needs a number, not {value}") from None
    if not math.isfinite(found):
        raise OptionError(f"needs a finite number, not {value}")
    return found


def whole(least: int) -> Reader:
    """Returns a reader of whole numbers from a least one on."""

    def read(value: str) -> int:
        if not re.fullmatch(r"-?\d{1,18}", value) or int(value) < least:
            raise OptionError(f"needs a whole number from {least}, not {value}")
        return int(value)

    return read


def names(value: str) -> tuple[str, ...]:
    """Reads names between commas."""
    found = tuple([name.strip() for name in value.split(",") if name.strip()])
    if not found:
        raise OptionError("needs at least one name")
    return found


def setting(value: str) -> tuple[str, Any]:
    """Reads `KEY=VALUE`: the value as JSON, else as text. Keys of providers are never given on a line."""
    key, equals, written = value.partition("=")
    if not equals or not key:
        raise OptionError(f"needs KEY=VALUE, not {value}")
    if key in _KEY_WORDS:
        raise OptionError(f"takes no {key}: a key on a line would be saved; use %provider key NAME")
    try:
        return key, json.loads(written, parse_constant=_no_constant)
    except ValueError:
        return key, written


def _no_constant(word: str) -> Any:
    raise ValueError(word)


def identifier(value: str) -> str:
    """Reads a name that a variable may have."""
    if not value.isidentifier() or value.startswith("_") or keyword.iskeyword(value):
        raise OptionError(f"needs the name of a variable, not {value}")
    return value
