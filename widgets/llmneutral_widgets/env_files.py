"""Keys out of a `.env` file: `%provider key --env`. Only when it is asked for, and only keys.

Only the variables of keys that the library knows are taken, and nothing else of the file: no addresses, proxies or
other settings. A notebook is often run in a folder that somebody else made: a file there may give a key to the provider
it is for, but must not send the user's requests, and the keys in them, to an address of its own. They are kept like
typed ones, and never put into the environment, where programs that are started would have them, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from llmneutral_widgets.lines.options import OptionError

if TYPE_CHECKING:
    from llmneutral_widgets.providers import Providers

FILE = ".env"
"""The file of the working folder that is meant where none is named."""
_LARGEST = 1024 * 1024
"""Bytes of such a file: a larger one is something else."""
_LINE = re.compile(r"(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?P<value>.*)")


class EnvFile(msgspec.Struct, frozen=True):
    """What a file says.

    Attributes:
        values: Name -> value, as it stands there: nothing in it is expanded.
        lines: Name -> number of its line; the last one counts.
        broken: Numbers of the lines that say nothing.
    """

    values: dict[str, str]
    lines: dict[str, int]
    broken: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"EnvFile({', '.join(self.values)})"


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a file, in names of variables; none of its values.

    Attributes:
        file: As it was named.
        taken: Those that are keys of this process now.
        preset: Those that are set in the environment already, which wins.
        given: Those whose providers have a key that was given in code, which wins, too.
        empty: Those without a value.
        broken: Numbers of lines that could not be read.
    """

    file: str
    taken: tuple[str, ...]
    preset: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    broken: tuple[int, ...] = ()

    def told(self) -> str:
        """Returns it in a line."""
        said = [f"{_listed(self.taken)} taken from {self.file}, in this process only"] if self.taken else []
        said = said or [f"nothing is taken from {self.file}"]
        said += [f"{_are(self.preset)} set in the environment already, which counts"] if self.preset else []
        said += [f"{_listed(self.given)} left: a key was given in code, which counts"] if self.given else []
        said += [f"{_are(self.empty)} empty there"] if self.empty else []
        said += [f"{_lines(self.broken)} be read as NAME=value"] if self.broken else []
        return "; ".join(said)


def read(text: str) -> EnvFile:
    """Reads lines `NAME=value`, `export NAME=value`, values in quotes, and `# comments`; nothing is expanded."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    broken = []
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        if not line or line.startswith("#"):
            continue
        named = _LINE.fullmatch(line)
        value = _value(named["value"]) if named else None
        if named is None or value is None:
            broken.append(number)
            continue
        values[named["name"]], lines[named["name"]] = value, number
    return EnvFile(values, lines, tuple(broken))


def _value(written: str) -> str | None:
    """A value without its quotes and the comment behind it; None where a quote is open, or text stands behind one."""
    if written[:1] not in ("'", '"'):
        ends = [at for mark in (" #", "\t#") if (at := f" {written}".find(mark)) >= 0]
        return written[: min(ends)].strip() if ends else written.strip()
    inner, mark, rest = written[1:].partition(written[0])
    return inner.strip() if mark and rest.strip()[:1] in ("", "#") else None


def take(providers: Providers, file: str) -> Taken:
    """Takes the keys of known providers out of a file, as if they had been typed.

    Args:
        providers: Who gets them.
        file: Its path, from the working folder.

    Raises:
        OptionError: If it cannot be read, or names no key of a known provider.
    """
    found = read(_text(file))
    wanted = {name: variables_of(providers.config(name)) for name in providers.names() if name not in providers.made_of}
    known = {variable for variables in wanted.values() for variable in variables}
    if not (named := sorted(known & found.values.keys())):
        broken = f"; {_lines(found.broken)} be read as NAME=value" if found.broken else ""
        raise OptionError(f"{file} names no key of a known provider, such as ANTHROPIC_API_KEY=…{broken}")
    empty = {name for name in named if not found.values[name]}
    odd = {name for name in named if not _may_be_key(found.values[name])}
    preset = {name for name in named if is_set(name)} - empty - odd
    usable = [name for name in named if name not in empty | odd | preset]
    taken, given = set[str](), set[str]()
    for name, variables in wanted.items():
        variable = next((each for each in variables if each in usable), None)
        if variable is None:
            continue
        if winning := [each for each in variables if is_set(each)]:
            preset.update(winning)
        elif name not in providers.typed and _has_key_of_its_own(providers.config(name)):
            given.add(variable)
        else:
            providers.set_key(name, found.values[variable])
            providers.of_file.add(name)
            taken.add(variable)
    broken_lines = sorted({*found.broken, *[found.lines[name] for name in odd]})
    return Taken(
        file=file,
        taken=tuple(sorted(taken)),
        preset=tuple(sorted(preset)),
        given=tuple(sorted(given - taken)),
        empty=tuple(sorted(empty)),
        broken=tuple(broken_lines),
    )


def named_here() -> frozenset[str]:
    """Returns the names of the variables that the `.env` of the working folder, if there is one, has values for."""
    try:
        found = read(_text(FILE))
    except OptionError:
        return frozenset()
    return frozenset([name for name, value in found.values.items() if value])


def variables_of(config: Any) -> tuple[str, ...]:
    """Returns the variables whose key a config would use, the first of them first: by the address it talks to."""
    import llmneutral

    own = config.status().key_variable
    if own is None:
        return ()
    try:
        return tuple(config.prompt_driver.api_key.variables)
    except llmneutral.LLMNeutralError:  # it needs a model first
        return (own,)


def _has_key_of_its_own(config: Any) -> bool:
    """Whether a key was given in code to a config whose variables are not set."""
    import llmneutral

    try:
        return config.prompt_driver.api_key.given is not None
    except llmneutral.LLMNeutralError:  # it needs a model first
        return bool(config.status().key_set)


def is_set(variable: str) -> bool:
    """Whether the environment holds a value that is not blank."""
    return bool(os.environ.get(variable, "").strip())


def _may_be_key(value: str) -> bool:
    """Whether a value can be a key: a reference to another variable is none, nor is what no header can carry."""
    return value.isascii() and value.isprintable() and "$" not in value


def _text(file: str) -> str:
    """The text of a file.

    Raises:
        OptionError: If there is none.
    """
    try:
        path = Path(file).expanduser()
        if path.is_dir():
            raise OptionError(f"{file} is a folder; %provider key --env FILE takes a file of lines NAME=value")
        if not path.is_file():
            where = " in the working folder" if file == FILE else ""
            raise OptionError(f"there is no file {file}{where}; %provider key --env FILE takes keys from another one")
        if path.stat().st_size > _LARGEST:
            raise OptionError(f"{file} is larger than {_LARGEST:,} bytes; it takes a file of lines NAME=value")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OptionError(f"{file} is no text in UTF-8; save it as one") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home of that name
        told = getattr(error, "strerror", None) or error
        raise OptionError(f"{file} cannot be read: {told}; %provider key NAME asks for a key") from None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _are(names: Sequence[str]) -> str:
    return f"{_listed(names)} {'is' if len(names) == 1 else 'are'}"


def _lines(numbers: Sequence[int]) -> str:
    """Which lines cannot be read; never what stands there: it may be a key."""
    shown = ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
    return f"line {shown} cannot" if len(numbers) == 1 else f"lines {shown} cannot"
