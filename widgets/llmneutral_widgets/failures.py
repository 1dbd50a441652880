"""How an error looks in a cell: the frames of the reader's own code and what went wrong, without secrets.

What must live here: which frames are whose. A library's error tells its lines itself; any other one (a mistake in a
driver or a tool of the user's, an error of a package, a bug of ours) would fill the cell with frames of libraries. All
of them are there on request: `error.traceback()`, `%config PromptMagics.tracebacks = 'full'`. Nothing of the shell is
changed: an error brings its lines along, which is what IPython asks it for. An interrupt of a call in a plain cell is
given them by a listener, as the library tells that it was interrupted; it finds the interrupt on its way.
"""

from __future__ import annotations

import contextlib
import sys
import sysconfig
import traceback
from asyncio import CancelledError, get_running_loop
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from llmneutral_widgets.cells import RUNS, is_other_task, shell
from llmneutral_widgets.scrub import Secrets, current_secrets
from llmneutral_widgets.views.page import visible

if TYPE_CHECKING:
    import llmneutral

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
_LONGEST = 2_000
"""Characters of an error's own words that a cell shows."""
_MOST_OWN = 12
"""Frames of the reader's own code that a cell shows, the last ones."""
_FULL = "%config PromptMagics.tracebacks = 'full'"


def presentable(error: BaseException, tracebacks: str, *, is_shown: bool, has_come: bool = True) -> BaseException:
    """Returns an error as a cell shows it: without secrets, in a few lines, in one where its output tells it already.

    Args:
        error: It is changed in place.
        tracebacks: `short`, or `full` for all frames.
        is_shown: Whether the output of the exchange says all of it.
        has_come: Whether anything of the answer had come, where it was interrupted.

    Returns:
        The error; one of the same name in its place where it cannot be changed so that it shows no secret, or where
        IPython would not ask it how to be shown (syntax errors, groups).
    """
    import llmneutral

    if getattr(error, "_is_presentable", False):
        return error
    secrets = current_secrets()
    cleaned(error, secrets)
    if tracebacks == "full":
        return _rendered(error, lambda: frames(error).split("\n"), secrets)
    if isinstance(error, (KeyboardInterrupt, CancelledError)):
        name = "CancelledError" if isinstance(error, CancelledError) else "KeyboardInterrupt"
        kept = "what had come is kept" if has_come else "nothing of it had come yet"
        said = f"{name}: the answer was stopped; {kept}" if is_shown else name
        return _rendered(error, lambda: [said], secrets)
    if isinstance(error, llmneutral.LLMNeutralError):  # it has lines of its own
        return _rendered(error, partial(_of_library, error, 1 if is_shown else None), secrets)
    return _rendered(error, partial(_short, error), secrets) if isinstance(error, Exception) else error


def of_task(error: BaseException) -> BaseException:
    """Returns what may leave a magic: in a task beside the cell's, or in a callback, an interrupt is a cancellation.

    The cell is cancelled, too, as its kernel would do: what waits for the task may swallow that (a `TaskGroup` does).
    """
    if not isinstance(error, KeyboardInterrupt) or not is_other_task():
        return error
    if (cell := RUNS.task) is not None and cell.get_loop() is get_running_loop():
        cell.cancel()
    return _rendered(CancelledError(), error._render_traceback_, current_secrets())  # type: ignore[attr-defined]


def frames(error: BaseException) -> str:
    """Returns all frames of an error, without secrets and without locals."""
    return visible(current_secrets().text("".join(traceback.format_exception(error)).rstrip("\n")))


def cleaned(error: BaseException, secrets: Secrets | None = None) -> BaseException:
    """Takes secrets out of an error, in place, before anything shows or saves it; returns it.

    The library has taken out what looks like a key; here go the values that are secret on this machine. `traceback()`
    gives all its frames.
    """
    known = secrets or current_secrets()
    with contextlib.suppress(AttributeError, TypeError):  # one without a place for it
        error.traceback = partial(frames, error)  # type: ignore[attr-defined]
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        found.args = tuple([visible(known.text(arg)) if isinstance(arg, str) else arg for arg in found.args])
        for name in ("message", "hint", "strerror", "filename", "filename2"):
            if isinstance(told := getattr(found, name, None), str):
                with contextlib.suppress(AttributeError, TypeError):
                    setattr(found, name, visible(known.text(told)))
        found = found.__cause__ or found.__context__
    return error


# ----------------------------------------------------------------------------------------------------------------------
# Calls in plain cells


def brief(call: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Returns a call of this layer whose errors tell themselves in a few lines in a plain cell, as those of magics."""

    @wraps(call)
    def told(*args: Given.args, **options: Given.kwargs) -> Answer:
        try:
            return call(*args, **options)
        except Exception as error:
            found = presentable(error, "full" if _is_full() else "short", is_shown=False)
            if found is error:
                raise
        raise found  # outside of `except`: what it stands for would be shown behind it

    return told


def listen() -> None:
    """From now on an interrupt of a call of the library's tells itself in a few lines in plain cells, too."""
    import llmneutral

    if not _HEARD:
        _HEARD.append(llmneutral.EventBus.on(llmneutral.InterruptedEvent, _interrupted))


def deafen() -> None:
    """Ends that."""
    while _HEARD:
        _HEARD.pop().off()


def _interrupted(event: Any) -> None:
    """A call ends because of what is on its way from within it: that brings along what has come, and its lines."""
    stopped = _on_its_way(sys.exc_info()[1])
    if stopped is None or hasattr(stopped, "partial") or _is_full():
        return
    with contextlib.suppress(AttributeError, TypeError):
        stopped.partial = event.partial  # type: ignore[attr-defined]
        stopped.traceback = partial(frames, stopped)  # type: ignore[attr-defined]
        stopped._render_traceback_ = partial(_of_call, stopped)  # type: ignore[attr-defined]


def _on_its_way(error: BaseException | None) -> BaseException | None:
    """The interrupt or cancellation that has come out of the library by now; None for one of the reader's own code."""
    for each in reversed([] if error is None else _chain(error)):
        if isinstance(each, (KeyboardInterrupt, CancelledError)):
            return each if any([_passed(each, folder) for folder in _ours()]) else None
    return None


def _of_call(stopped: Any) -> list[str]:
    """The lines of an interrupt: where the reader's code was, and what is kept."""
    has_come = stopped.partial is not None and bool(stopped.partial.message.content)
    said = "what had come stands in its `partial`" if has_come else "nothing of it had come yet"
    kept = ["→ import sys; sys.last_value.partial is the answer as far as it came"] if has_come else []
    if _passed(stopped, _ours()[0] / "agent"):
        kept.append("→ the agent's `memory` has the calls of tools that were run")
    return _short(stopped, [f"{type(stopped).__name__}: the answer was stopped; {said}", *kept])


def _passed(error: BaseException, folder: Path) -> bool:
    """Whether an error has come through code that lies there."""
    files = {frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)}
    return any([Path(file).is_relative_to(folder) for file in files])


def _is_full() -> bool:
    registry = getattr(getattr(shell(), "magics_manager", None), "registry", {})
    return getattr(registry.get("PromptMagics"), "tracebacks", "short") == "full"


_HEARD: list[Any] = []
"""The listener, while there is one."""


# ----------------------------------------------------------------------------------------------------------------------
# In a few lines


def _of_library(error: llmneutral.LLMNeutralError, most: int | None) -> list[str]:
    """The lines of an error of the library's, which knows only what looks like a key."""
    secrets = current_secrets()
    return [visible(secrets.text(line)) for line in type(error)._render_traceback_(error)[:most]]


def _short(error: BaseException, said: Sequence[str] = ()) -> list[str]:
    """The reader's own frames, what went wrong (in the error's words unless said), and where the rest is."""
    secrets, number, lines = current_secrets(), 0, []
    for each in _chain(error):
        own = list(_own_frames(each))
        number += len(traceback.extract_tb(each.__traceback__))
        words = (each is error and said) or [_words(each)]
        lines += [*own[-2 * _MOST_OWN :], *words] if own or each is error else []
    if number > 1:
        lines.append(f"→ {_FULL} shows all {number} frames")
    return [visible(secrets.text(line)) for line in lines]


def _chain(error: BaseException) -> list[BaseException]:
    """What it was caused by, the first cause first, and itself."""
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and not any([at is each for each in found]):
        found.append(at)
        at = at.__cause__ if at.__suppress_context__ else at.__cause__ or at.__context__
    return found[::-1]


def _words(error: BaseException) -> str:
    """What went wrong, as Python says it."""
    said = "".join(traceback.format_exception_only(error)).strip()
    module = type(error).__module__
    if module.partition(".")[0] in ("llmneutral", "llmneutral_widgets"):  # where it lies is no matter of the reader's
        said = said.removeprefix(f"{module}.")
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def _own_frames(error: BaseException) -> Iterator[str]:
    """Each frame of the reader's own code: where it is, and the line; that of the magic itself has none to show."""
    for frame in traceback.extract_tb(error.__traceback__):
        if (place := _place(frame.filename)) is None:
            continue
        where = "" if frame.name.startswith("<") else f", in {frame.name}"
        yield f"{place}, line {frame.lineno}{where}"
        if frame.line and not frame.line.startswith("get_ipython()."):
            yield f"    {frame.line}"


def _place(file: str) -> str | None:
    """What a file of the reader's is called; None for one of a library."""
    named = getattr(getattr(shell(), "compile", None), "format_code_name", lambda _: None)(file)
    if named is not None:
        return " ".join(named)
    if file.startswith("<"):  # code of a library's making, frozen modules
        return None
    path = Path(file)
    is_library = any([path.is_relative_to(folder) for folder in _libraries()])
    return None if is_library else f"File {path.name}"


def _libraries() -> list[Path]:
    """Where libraries lie, this one with them."""
    known = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    more = [Path(traceback.__file__).parent]  # the standard library of a venv is that of its base
    return [*_ours(), *known, *more]


def _ours() -> list[Path]:
    """Where the library lies, and this layer of it."""
    import llmneutral

    return [Path(str(file)).parent for file in (llmneutral.__file__, __file__)]


# ----------------------------------------------------------------------------------------------------------------------
# Told to IPython


def _rendered(error: BaseException, lines: Callable[[], list[str]], secrets: Secrets) -> BaseException:
    """An error that tells IPython what to show of it; it is asked when it has arrived, with all its frames."""
    if isinstance(error, Exception) and not _is_asked(error, secrets):
        error = _stand_in(error, secrets)
    with contextlib.suppress(AttributeError, TypeError):
        error._render_traceback_ = lines  # type: ignore[attr-defined]
        error._is_presentable = True  # type: ignore[attr-defined]
    return error


def _is_asked(error: Exception, secrets: Secrets) -> bool:
    """Whether IPython asks an error for its lines, and what else is saved of it, its text, holds no secret."""
    if isinstance(error, SyntaxError) or any([isinstance(each, BaseExceptionGroup) for each in _chain(error)]):
        return False
    return hasattr(error, "__dict__") and secrets.text(str(error)) == str(error)


def _stand_in(error: Exception, secrets: Secrets) -> Exception:
    """One of the same name that says the same, without secrets."""
    kind = type(type(error).__name__, (Exception,), {"__module__": type(error).__module__})
    made: Exception = kind(secrets.text(str(error)))
    made.traceback = partial(frames, error)  # type: ignore[attr-defined]
    return made
