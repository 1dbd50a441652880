"""SDKs are imported at the first use of a client, and by this one function."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from llmneutral.errors import MissingExtraError


def is_installed(module: str) -> bool:
    """Whether a module could be imported; nothing is imported but packages that it stands in."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def sdk(module: str, *, package: str | None = None, extra: str | None = None) -> ModuleType:
    """Returns an SDK's module.

    Args:
        module: What is imported.
        package: What is installed for it; the module's name unless given.
        extra: The extra of this library that brings it; None: it comes with the library.

    Raises:
        MissingExtraError: If it is not installed, naming what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the SDK is there, and something else is not
        name = package or module
        hint = None if extra else f"pip install {name}"
        raise MissingExtraError(package=name, extra=extra, hint=hint) from None
