"""The conformance cases of the reference material that concern the three APIs of the first round, one test each."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

import llmneutral
from tests.conftest import SHARED

CASES = SHARED / "cases"
MODES = {"chat_completions", "codex_responses", "anthropic_messages"}


def _evaluate() -> Any:
    """The evaluator that lies beside the cases; it imports its own neighbours by their bare names."""
    if str(CASES) not in sys.path:
        sys.path.append(str(CASES))
    return importlib.import_module("evaluate")


def _modes(case: Any) -> set[str]:
    """The API modes that a case needs; none for the cases of mode resolution."""
    modes = case.api if isinstance(case.api, list) else [case.api]
    targets = case.given.get("targets", {}).values()
    return {mode for mode in [*modes, *(target["api"] for target in targets)] if mode}


def _chosen() -> list[Any]:
    if not CASES.is_dir():
        reason = "the conformance cases (../shared/cases) are not here"
        return [pytest.param(None, id="no-cases", marks=pytest.mark.skip(reason=reason))]
    cases = [case for case in _evaluate().load(CASES) if _modes(case) <= MODES]
    return [pytest.param(case, id=case.id) for case in cases]


@pytest.mark.parametrize("case", _chosen())
def test_case(case: Any) -> None:
    failures = _evaluate().check(case, llmneutral)
    told = "\n  ".join(failures)
    assert failures == [], f"{case.title}\n  {told}\nwhy: {case.why}"
