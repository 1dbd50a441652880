"""The command `llmneutral`.

What must live here: the parser, and the one place that turns errors into exit codes. Each command stands in a file of
its own, which adds its arguments with `add_parser(commands)` and its function with `set_defaults(run=...)`; the
function is given the parsed arguments and returns an exit code.

Exit codes: 0 done, 1 it could not be done (one line on stderr says why), 2 wrong arguments, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from llmneutral.cli import demo, local, notebook
from llmneutral.errors import LLMNeutralError


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Ends the program with code 2."""
        self.exit(2, f"{self.prog}: {message}. See `{self.prog} --help`.\n")


def parser() -> Parser:
    """Returns the parser of the whole command line."""
    root = Parser(prog="llmneutral", description="One conversation, every provider's API.")
    root.add_argument("--version", action="version", version=f"llmneutral {_version()}")
    root.set_defaults(run=None)
    commands = root.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    demo.add_parser(commands)
    local.add_parser(commands)
    notebook.add_parser(commands)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code.

    Args:
        arguments: What follows the program's name; None takes `sys.argv`.
    """
    root = parser()
    chosen = root.parse_args(arguments)
    if chosen.run is None:
        root.print_help()
        return 0
    try:
        code: int = chosen.run(chosen)
    except LLMNeutralError as error:
        sys.stderr.write(f"llmneutral: {error}\n")
        code = 1
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        code = 130
    except BrokenPipeError:
        _print_nowhere()
        return 1
    return code if _is_printed() else 1


def _is_printed() -> bool:
    """Prints what is left, and tells whether that could be done; if not (a full disk), says so in one line."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _print_nowhere()
        return False
    except OSError as error:
        _print_nowhere()
        sys.stderr.write(f"llmneutral: the output cannot be written: {error.strerror or error}\n")
        return False
    return True


def _print_nowhere() -> None:
    """Drops what is left: its reader has gone (`| head`), and Python would complain about it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version() -> str:
    try:
        return importlib.metadata.version("llmneutral")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
