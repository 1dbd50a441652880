"""Every payload that the conformance cases make is one that the SDK's types allow, and that no rule is against."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral
from llmneutral import Conversion, lint, validate
from tests.conftest import SHARED
from tests.house import test_cases as house

HERE = SHARED / "cases"


def convertible() -> list[Any]:
    """The cases that need no server, of APIs that have a transport."""
    if not HERE.is_dir():
        reason = "the conformance cases (../shared/cases) are not here"
        return [pytest.param(None, id="no-cases", marks=pytest.mark.skip(reason=reason))]
    found = [case for case in house._evaluate().load(HERE) if "transport" not in case.given]
    return [pytest.param(case, id=case.id) for case in found]


class Watched:
    """The face, with an eye on what `convert` returns."""

    def __init__(self) -> None:
        self.made: list[Conversion] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(llmneutral, name)

    def convert(self, *arguments: Any, **settings: Any) -> Any:
        """Converts, and remembers."""
        found = llmneutral.convert(*arguments, **settings)
        self.made += found.values() if isinstance(found, dict) else [found]
        return found


@pytest.mark.parametrize("case", convertible())
def test_payloads_of_a_case(case: Any) -> None:
    face = Watched()
    house._evaluate().check(case, face)
    for made in face.made:
        assert validate(made) == []
        assert lint(made) == []
