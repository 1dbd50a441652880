"""`llmneutral notebook`: conversations out of notebooks and into them, and two runs beside each other.

The notebook package is reached by its name only, and when a command runs: the library knows no notebook.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

from llmneutral.errors import ConfigurationError

_STDIN = "-"
_PART = "{}which part of it, counted from 1, where it began anew (--new); default: the last one"
_CELLS = "with --whole: only cells A to B, counted from 1, both included, such as 2:8, :5, -3: or 6; or the id of one"


def add_parser(commands: Any) -> None:
    """Adds `notebook` and its own commands."""
    group = commands.add_parser("notebook", help="conversations in notebooks: extract, export, diff")
    group.set_defaults(run=lambda _: _help(group))
    own = group.add_subparsers(title="commands", metavar="COMMAND")

    extract = own.add_parser("extract", help="list the exchanges that a notebook keeps, or print them as JSON")
    extract.add_argument("file", metavar="FILE", help="a notebook; - reads standard input")
    form = extract.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="every exchange, what is missing, and notes, as JSON")
    form.add_argument("--stack", action="store_true", help="one conversation as the JSON of a PromptStack")
    form.add_argument("--whole", action="store_true", help="the whole notebook (text, code, outputs) as a PromptStack")
    extract.add_argument("-c", "--conversation", metavar="NAME", help="with --stack: default is the one asked last")
    extract.add_argument("--part", type=_positive, metavar="N", help=_PART.format("with --stack: "))
    extract.add_argument("--cells", type=_range, metavar="A:B", help=_CELLS)
    extract.add_argument("--no-outputs", action="store_true", help="with --whole: leave out what cells have shown")
    extract.add_argument("--cap", type=_positive, metavar="N", help="with --whole: most characters of a cell (20000)")
    extract.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    extract.set_defaults(run=_extract, refuse=extract.error)

    export = own.add_parser("export", help="write a conversation as a notebook, as JSON or as Markdown")
    export.add_argument("file", metavar="FILE", help="a notebook or the JSON of a PromptStack; - reads standard input")
    export.add_argument("-o", "--output", metavar="FILE", help="ends in .ipynb, .json or .md; default: standard output")
    export.add_argument("--to", choices=("ipynb", "json", "md"), help="form; default: the ending of -o, else ipynb")
    export.add_argument("-c", "--conversation", metavar="NAME", help="which one; default: the one asked last")
    export.add_argument("--part", type=_positive, metavar="N", help=_PART.format(""))
    export.add_argument(
        "--style",
        choices=("prompt", "markdown"),
        default="prompt",
        help="of a notebook: cells that ask again, or cells to read (%(default)s)",
    )
    export.set_defaults(run=_export, refuse=export.error)

    diff = own.add_parser("diff", help="compare the answers and the usage of two runs of a notebook")
    diff.add_argument("first", metavar="FIRST", help="a notebook; - reads standard input")
    diff.add_argument("second", metavar="SECOND", help="another run of it; - reads standard input")
    diff.add_argument("--json", action="store_true", help="as JSON")
    diff.add_argument("--exit-code", action="store_true", help="end with 1 if the answers differ")
    diff.set_defaults(run=_diff, refuse=diff.error)


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _range(text: str) -> slice | list[str]:
    """Cells as messages count them: from 1, the last one included; -1 is the last one."""
    start, colon, stop = text.partition(":")
    if not colon:
        start = stop = text
    try:
        first, last = [int(part) if part else None for part in (start, stop)]
    except ValueError:
        if colon or not text:
            raise argparse.ArgumentTypeError(f"{text!r} is no range such as 2:8, :5 or -3:") from None
        return [text]  # an id
    if 0 in (first, last):
        raise argparse.ArgumentTypeError(f"{text!r}: cells are counted from 1")
    return slice(first if first is None or first < 0 else first - 1, None if last == -1 else _after(last))


def _after(last: int | None) -> int | None:
    return last + 1 if last is not None and last < 0 else last


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _notebooks() -> Any:
    """What reads and writes them."""
    return importlib.import_module("llmneutral_widgets.ipynb.conversations")


# ----------------------------------------------------------------------------------------------------------------------
# Commands


def _extract(arguments: argparse.Namespace) -> int:
    _only_with(arguments, "stack", "conversation")
    _only_with(arguments, "stack", "part")
    for name in ("cells", "no_outputs", "cap"):
        _only_with(arguments, "whole", name)
    notebooks = _notebooks()
    notebook = _notebook(notebooks, arguments.file)
    if arguments.whole:
        outputs = "none" if arguments.no_outputs else "text"
        stack = notebooks.stack_from_notebook(notebook, arguments.cells, outputs, arguments.cap or 20_000)
        _say(stack.notes)
        text = notebooks.conversation_text(stack, "json")
    else:
        found = notebooks.extract_exchanges(notebook)
        if arguments.stack:
            text = notebooks.conversation_text(found.stack(arguments.conversation, arguments.part), "json")
            _say(notebooks.choice(found, arguments.conversation, arguments.part))
            _say(found.notes)
        else:
            text = f"{_json(found.to_json()) if arguments.json else found.to_text()}\n"
    _write(notebooks, text, arguments)
    return 0


def _export(arguments: argparse.Namespace) -> int:
    notebooks = _notebooks()
    form = arguments.to or _form_of(arguments, notebooks.FORMS)
    text, name = _content(arguments.file)
    found = notebooks.read_conversation(text, name, arguments.conversation, part=arguments.part)
    _say(found.notes)
    written = notebooks.conversation_text(found.conversation, form, arguments.style)
    _write(notebooks, written, arguments)
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    if arguments.first == arguments.second == _STDIN:
        arguments.refuse("standard input holds one notebook: name a file for the other")
    notebooks = _notebooks()
    runs = [_notebook(notebooks, file) for file in (arguments.first, arguments.second)]
    found = notebooks.diff_runs(*runs)
    _print(f"{_json(found.to_json()) if arguments.json else found.to_text()}\n")
    return 1 if arguments.exit_code and not found.is_same else 0


def _only_with(arguments: argparse.Namespace, form: str, name: str) -> None:
    """Refuses an option that would mean nothing."""
    if getattr(arguments, name) not in (None, False) and not getattr(arguments, form):
        arguments.refuse(f"--{name.replace('_', '-')} belongs to --{form}")


def _form_of(arguments: argparse.Namespace, forms: tuple[str, ...]) -> str:
    """The form that the ending of a file names."""
    if arguments.output is None:
        return "ipynb"
    ending = Path(arguments.output).suffix.removeprefix(".")
    if ending not in forms:
        known = ", ".join([f".{form}" for form in forms])
        arguments.refuse(f"{Path(arguments.output).name} ends in none of {known}: name the form by --to")
    return ending


# ----------------------------------------------------------------------------------------------------------------------
# In and out


def _notebook(notebooks: Any, file: str) -> Any:
    return notebooks.parse_notebook(*_content(file)) if file == _STDIN else notebooks.open_notebook(file)


def _content(file: str) -> tuple[bytes, str]:
    """The content of a file, and what it is called."""
    if file == _STDIN:
        return sys.stdin.buffer.read(), "standard input"
    path = Path(file).expanduser()
    try:
        return path.read_bytes(), path.name
    except OSError as error:
        raise ConfigurationError(f"{path.name or file}: {error.strerror or error}") from None


def _write(notebooks: Any, text: str, arguments: argparse.Namespace) -> None:
    if arguments.output is None:
        _print(text)
        return
    output, source = Path(arguments.output), Path(arguments.file)
    if arguments.file != _STDIN and output.expanduser().resolve() == source.expanduser().resolve():
        arguments.refuse(f"{output.name} would replace the file it is made of: name another one")
    notebooks.save_text(text, output)


_MARKS = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What drives a terminal, or turns the order of its letters. In JSON's strings, an escape stands for the same."""


def _print(text: str) -> None:
    if sys.stdout is None:
        raise ConfigurationError("there is no output to print to: name a file with -o")
    encoding = sys.stdout.encoding or "utf-8"
    text = _MARKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    # A terminal that cannot show a character shows a question mark.
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConfigurationError(f"the output cannot be written: {error.strerror or error}") from None


def _say(notes: tuple[str, ...]) -> None:
    """Remarks go to standard error: what is printed can be read by a program."""
    encoding = sys.stderr.encoding or "utf-8"
    for note in notes:
        sys.stderr.write(f"{note}\n".encode(encoding, "replace").decode(encoding))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
