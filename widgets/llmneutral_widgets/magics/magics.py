"""The six magics, thin: where they run, what `%config PromptMagics` says, and how their errors go out.

What they do stands in `prompting`, `inspecting` and `sent`, which are imported when a magic first runs. The class is
made when the extension is loaded: importing this module imports no IPython.
"""

# IPython's decorators have no types that fit methods.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.lines.prompt_line import DELTAS, PAYLOAD, PROMPT, PROVIDER, STACK, USAGE

if TYPE_CHECKING:
    from llmneutral_widgets.magics.prompting import Here, Settings
    from llmneutral_widgets.views.limits import Limits

_STREAM = {"": True, "auto": True, "yes": True, "on": True, "no": False, "off": False}
_TRACEBACKS = ("short", "full")
_LAST_ERROR = 20_000


@cache
def magics_class() -> Any:
    """Returns the class that IPython registers; its traits are what `%config PromptMagics` sets."""
    from IPython.core import magic as ipython_magic
    from traitlets import Dict, Int, Unicode, validate

    magic: Any = ipython_magic

    @magic.magics_class
    class PromptMagics(ipython_magic.Magics):
        # Texts and numbers, looked at when they are used: a trait that refuses a value would refuse to load.
        provider = Unicode("", help="who is asked where no -p says it; empty is what Defaults has").tag(config=True)
        model = Unicode("", help="another model where no -m says it; empty is the driver's").tag(config=True)
        stream = Unicode("auto", help="auto, yes or no").tag(config=True)
        history = Int(-1, help="how many earlier exchanges are sent; -1 is all").tag(config=True)
        max_rows = Int(0, help="how many rows or messages a view shows; 0 is what suits each view").tag(config=True)
        max_image_bytes = Int(32_768, help="larger pictures are a line with their size; 32768 at most").tag(config=True)
        prices = Unicode("", help="a file of your own prices, JSON or TOML").tag(config=True)
        plain = Int(0, help="1 prints answers, and what the magics show, as text").tag(config=True)
        tracebacks = Unicode("short", help="short, or full: all frames, without locals").tag(config=True)
        presets = Dict(help="names for -p, such as {'fast': 'openai/gpt-6-luna'}").tag(config=True)
        checked = validate("presets")(_checked_presets)

        @magic.no_var_expand
        @magic.needs_local_scope
        @magic.line_cell_magic("prompt")
        def ask(self, line: str, cell: str | None = None, local_ns: Any = None) -> Any:
            from llmneutral_widgets.magics.prompting import prompt

            return run(self, prompt, line, cell, local_ns=local_ns)

        @magic.no_var_expand
        @magic.line_magic("provider")
        def choose(self, line: str) -> Any:
            from llmneutral_widgets.magics.inspecting import provider

            return run(self, provider, line)

        @magic.no_var_expand
        @magic.line_magic("stack")
        def show_stack(self, line: str) -> Any:
            from llmneutral_widgets.magics.inspecting import stack

            return run(self, stack, line)

        @magic.no_var_expand
        @magic.line_magic("payload")
        def show_payload(self, line: str) -> Any:
            from llmneutral_widgets.magics.sent import payload

            return run(self, payload, line)

        @magic.no_var_expand
        @magic.line_magic("deltas")
        def show_deltas(self, line: str) -> Any:
            from llmneutral_widgets.magics.sent import deltas

            return run(self, deltas, line)

        @magic.no_var_expand
        @magic.line_magic("usage")
        def show_usage(self, line: str) -> Any:
            from llmneutral_widgets.magics.inspecting import usage

            return run(self, usage, line)

    helps = (PROMPT, PROVIDER, STACK, PAYLOAD, DELTAS, USAGE)
    for name, grammar in zip(_METHODS, helps, strict=True):
        getattr(PromptMagics, name).__doc__ = grammar.help()
    PromptMagics.__doc__ = "Prompts in cells: %%prompt, %provider, %stack, %payload, %deltas, %usage."
    return PromptMagics


def _checked_presets(magics: Any, proposal: Any) -> Any:
    """Looks at the presets when they are set, and keeps those there were where the new ones cannot be asked.

    Not while the extension is loaded: a bad table in a file would keep it from loading. The magics tell of that one.
    """
    from traitlets import TraitError

    if magics.shell.magics_manager.registry.get(type(magics).__name__) is magics:
        try:
            keep_presets(proposal.value)
        except OptionError as error:
            raise TraitError(str(error)) from None
    return proposal.value


@cache
def question_class() -> Any:
    """Returns the transformer that keeps the question mark of `%prompt Why is the sky blue?`.

    IPython takes a line that ends with one for a request for help, and would look for an object called `blue`.
    """
    from IPython.core import inputtransformer2 as transformers

    class Question(transformers.TokenTransformBase):
        priority = transformers.HelpEnd.priority - 1

        @classmethod
        def find(cls, tokens_by_line: Any) -> Any:
            """Finds the first `%prompt` with a text behind it."""
            return next(
                (cls(line[at].start) for line in tokens_by_line if (at := _question_at(line)) is not None), None
            )

        def transform(self, lines: list[str]) -> list[str]:
            """Turns it into the call of the magic, as it stands."""
            first, column = self.start_line, self.start_col
            last = transformers.find_end_of_continued_line(lines, first)
            written = transformers.assemble_continued_line(lines, (first, column), last)
            text = written.removeprefix("%prompt").strip()
            call = f"{lines[first][:column]}get_ipython().run_line_magic('prompt', {text!r})\n"
            return [*lines[:first], call, *lines[last + 1 :]]

    return Question


def _question_at(line: Any) -> int | None:
    """Where the tokens of a line say `%prompt` and a text; `%prompt?` is a request for help."""
    at = next((i for i, token in enumerate(line) if token.string.strip()), None)
    if at is None or [token.string for token in line[at : at + 2]] != ["%", "prompt"] or len(line) < at + 3:
        return None
    name, text = line[at + 1 : at + 3]
    return at if text.start[0] == name.end[0] and text.start[1] > name.end[1] and text.string.strip() else None


_METHODS = ("ask", "choose", "show_stack", "show_payload", "show_deltas", "show_usage")


def run(magics: Any, does: Callable[..., Any], *args: Any, local_ns: Any = None) -> Any:
    """Runs a magic: what it says is calm, what is wrong with its line is one line, and no error shows a secret.

    Raises:
        UsageError: If the line cannot be meant.
    """
    from IPython.core.error import UsageError

    from llmneutral_widgets.failures import of_task, presentable
    from llmneutral_widgets.interrupts import heard
    from llmneutral_widgets.notes import calm
    from llmneutral_widgets.scrub import current_secrets

    try:
        here = here_of(magics, local_ns)
        with heard(), calm():
            return does(here, *args)
    except OptionError as error:
        raise UsageError(current_secrets().text(str(error))) from None
    except BaseException as error:
        found = of_task(presentable(error, magics.tracebacks, is_shown=False))
        if found is error:
            raise
    raise found  # outside of `except`: what it stands for would be shown behind it


def here_of(magics: Any, local_ns: Any = None) -> Here:
    """Returns where a magic runs.

    Raises:
        OptionError: If `%config PromptMagics` was given a value that cannot be meant.
    """
    from llmneutral_widgets import session
    from llmneutral_widgets.magics.prompting import Here
    from llmneutral_widgets.pricing import own_prices

    ip = magics.shell
    namespace = {**ip.user_ns, **(local_ns or {})}
    error = getattr(sys, "last_value", None)
    if error is not None and "last_error" not in namespace:
        namespace["last_error"] = "".join(traceback.format_exception(error))[-_LAST_ERROR:]
    here = Here(ip, session.current(), namespace, settings_of(magics))
    try:
        here.session.prices = own_prices(magics.prices.strip())
    except OptionError as error:
        raise OptionError(str(error).replace("--prices", "%config PromptMagics.prices", 1)) from None
    keep_presets(magics.presets)
    return here


def keep_presets(written: Mapping[Any, Any]) -> None:
    """Keeps the presets of `%config` in this session.

    Raises:
        OptionError: If one could not be asked.
    """
    from llmneutral_widgets import session

    try:
        session.current().providers.keep_presets(written)
    except OptionError as error:
        raise OptionError(f"%config PromptMagics.presets: {error}") from None


def limits_of(magics: Any) -> Limits:
    """Returns how much views show.

    Raises:
        OptionError: If a trait of it has a value that cannot be meant.
    """
    from llmneutral_widgets import limits

    return limits.limits_of(magics.max_rows, magics.max_image_bytes)


def settings_of(magics: Any) -> Settings:
    """Returns the settings.

    Raises:
        OptionError: If one has a value that cannot be meant.
    """
    from llmneutral_widgets.magics.prompting import Settings

    stream = magics.stream.strip().lower()
    if stream not in _STREAM:
        raise OptionError(f"%config PromptMagics.stream is {magics.stream!r}; it is auto, yes or no")
    if magics.tracebacks not in _TRACEBACKS:
        raise OptionError(f"%config PromptMagics.tracebacks is {magics.tracebacks!r}; it is short or full")
    limits_of(magics)
    return Settings(
        provider=magics.provider.strip(),
        model=magics.model.strip(),
        stream=_STREAM[stream],
        history=None if magics.history < 0 else magics.history,
        plain=bool(magics.plain),
        tracebacks=magics.tracebacks,
    )
