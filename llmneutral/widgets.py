"""The notebook package, by the name that goes with the library's: `from llmneutral.widgets import show`.

Its names are handed on as they are asked for, so that they are the same objects. It is no package: a module of
`llmneutral_widgets` under a second name would be a second copy of it, with a session of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmneutral_widgets import *  # noqa: F403 - the face of another package, whole

_PACKAGE = "llmneutral_widgets"  # reached by name only: the library knows no notebook


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PACKAGE), name)


def __dir__() -> list[str]:
    return dir(import_module(_PACKAGE))
