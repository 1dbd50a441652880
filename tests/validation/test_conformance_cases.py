"""Every payload that the conformance cases make is one that the SDK's types allow."""

from __future__ import annotations

from typing import Any

import pytest

import llmneutral
from llmneutral import Conversion, validate
from tests.conftest import SHARED
from tests.house.test_cases import _chosen, _evaluate

pytestmark = pytest.mark.skipif(
    not (SHARED / "cases").is_dir(), reason="the conformance cases (../shared/cases) are not here"
)
CASES = [param for param in _chosen() if param.values[0] is not None and "transport" not in param.values[0].given]
"""Those that need no server."""


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


@pytest.mark.parametrize("case", CASES)
def test_payloads_of_a_case(case: Any) -> None:
    face = Watched()
    _evaluate().check(case, face)
    for made in face.made:
        assert validate(made) == []
