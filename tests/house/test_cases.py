"""The conformance cases of the reference material, one test each."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

import llmneutral
from tests.conftest import SHARED

CASES = SHARED / "cases"


def _evaluate() -> Any:
    """The evaluator that lies beside the cases; it imports its own neighbours by their bare names."""
    if str(CASES) not in sys.path:
        sys.path.append(str(CASES))
    return importlib.import_module("evaluate")


def _chosen() -> list[Any]:
    if not CASES.is_dir():
        reason = "the conformance cases (../shared/cases) are not here"
        return [pytest.param(None, id="no-cases", marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(case, id=case.id) for case in _evaluate().load(CASES)]


@pytest.mark.parametrize("case", _chosen())
def test_case(case: Any) -> None:
    failures = _evaluate().check(case, llmneutral)
    told = "\n  ".join(failures)
    assert failures == [], f"{case.title}\n  {told}\nwhy: {case.why}"
