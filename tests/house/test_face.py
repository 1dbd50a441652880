"""The public face: an explicit, sorted list of names, each of which is there and documented."""

from __future__ import annotations

import ast
import inspect
import re
import sys

import pytest

import llmneutral
from tests.house.tree import PACKAGES, parsed

PROMISED = (
    "Agent BasePromptDriver ConfigurationError Conversion ConversionError Defaults DriversConfig LLMNeutralError"
    " PromptStack ProviderError aggregate convert make_driver normalize normalize_stream read_request resolve_api_mode"
    " validate"
).split()
"""What the contract names; the face may have more."""

HOOKS = {"load_ipython_extension", "unload_ipython_extension"}
"""What `%load_ext llmneutral` looks for: there, but nothing to import by name."""


def _listed() -> list[str]:
    """`__all__` as it is written down, if it is a plain list of strings."""
    for node in parsed(PACKAGES[0] / "__init__.py").body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value: list[str] = ast.literal_eval(getattr(node, "value"))  # noqa: B009 - both kinds of node have it
            return [*value]
    pytest.fail("llmneutral/__init__.py has no __all__")


def test_the_list_is_explicit_and_sorted() -> None:
    assert _listed() == sorted({*_listed()})


def test_what_is_promised_is_there() -> None:
    assert [name for name in PROMISED if name not in llmneutral.__all__] == []


def test_the_extension_can_be_loaded() -> None:
    assert [name for name in HOOKS if not callable(getattr(llmneutral, name, None))] == []


def test_every_name_is_there() -> None:
    assert [name for name in llmneutral.__all__ if not hasattr(llmneutral, name)] == []


def test_help_can_show_every_class() -> None:
    """`help(llmneutral)` asks each for its signature: the types of a struct's fields are there at run time."""
    for name in llmneutral.__all__:
        if inspect.isclass(value := getattr(llmneutral, name)):
            assert inspect.signature(value) is not None, name


def test_every_name_is_shown_by_dir() -> None:
    assert {*llmneutral.__all__} - {*dir(llmneutral)} == set()


def test_nothing_public_is_left_out() -> None:
    """Beside the list there are only modules, and what the face borrows from the standard library."""
    public = {name: value for name, value in vars(llmneutral).items() if not name.startswith("_")}
    own = {name for name, value in public.items() if not inspect.ismodule(value) and not _is_borrowed(value)}
    assert own - {*llmneutral.__all__} - HOOKS == set()


def _is_borrowed(value: object) -> bool:
    return getattr(value, "__module__", "llmneutral").partition(".")[0] in sys.stdlib_module_names or value is False


def test_every_function_and_class_is_documented() -> None:
    values = {name: getattr(llmneutral, name) for name in llmneutral.__all__}
    described = {name: value for name, value in values.items() if inspect.isclass(value) or inspect.isroutine(value)}
    assert [name for name, value in described.items() if not (inspect.getdoc(value) or "").strip()] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=re.escape("no_such_name")):
        getattr(llmneutral, "no_such_name")  # noqa: B009 - the name is unknown to the type checker too


def test_the_version_is_the_one_of_the_package() -> None:
    from importlib.metadata import version

    assert llmneutral.__version__ == version("llmneutral")
