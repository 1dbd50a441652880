"""What codex asks in the middle of a turn, and how a decision is written."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import ConfigurationError
from llmneutral.drivers.codex_requests import answer_to
from llmneutral.events import Publisher
from llmneutral.ir.tools import definitions

COMMAND, FILES = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
PERMISSIONS, ELICITATION = "item/permissions/requestApproval", "mcpServer/elicitation/request"
AMENDED = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}}
WANTED = {"network": {"enabled": True}}


def answer(method: str, decision: Any = None, **params: Any) -> Any:
    found, failure = answer_to(
        {"id": 1, "method": method, "params": params}, None if decision is None else lambda _: decision, {}, Publisher()
    )
    assert failure is None
    return found


@pytest.mark.parametrize(
    ("method", "declined"),
    [
        (COMMAND, {"decision": "decline"}),
        (FILES, {"decision": "decline"}),
        (PERMISSIONS, {"permissions": {}, "scope": "turn"}),
        (ELICITATION, {"action": "decline", "content": None}),
        ("item/tool/requestUserInput", {"answers": {}}),
        ("attestation/generate", None),
    ],
)
def test_nothing_is_allowed_by_default(method: str, declined: Any) -> None:
    assert answer(method, permissions=WANTED) == declined


@pytest.mark.parametrize(
    ("method", "decision", "written"),
    [
        (COMMAND, True, {"decision": "accept"}),
        (COMMAND, "acceptForSession", {"decision": "acceptForSession"}),
        (COMMAND, AMENDED, {"decision": AMENDED}),
        (FILES, False, {"decision": "decline"}),
        (PERMISSIONS, "accept", {"permissions": WANTED, "scope": "turn"}),
        (PERMISSIONS, "acceptForSession", {"permissions": WANTED, "scope": "session"}),
        (PERMISSIONS, "cancel", {"permissions": {}, "scope": "turn"}),
        (ELICITATION, {"name": "x"}, {"action": "accept", "content": {"name": "x"}}),
        (ELICITATION, "cancel", {"action": "cancel", "content": None}),
    ],
)
def test_a_decision_is_written_as_the_request_wants_it(method: str, decision: Any, written: Any) -> None:
    assert answer(method, decision, permissions=WANTED) == written


def test_a_decision_that_is_none_is_a_mistake_and_declines() -> None:
    found, failure = answer_to({"id": 1, "method": COMMAND, "params": {}}, lambda _: "yes", {}, Publisher())
    assert found == {"decision": "decline"}
    assert isinstance(failure, ConfigurationError)


def half(n: int) -> float:
    return 1 / n


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "success"),
    [
        ("half", {"n": 4}, "0.25", True),
        ("half", {"n": 0}, "ZeroDivisionError: division by zero", False),
        ("half", [4], "the arguments of half are no object", False),
        ("third", {}, "there is no tool third", False),
    ],
)
def test_a_tool_is_run_and_its_failure_told(tool: str, arguments: Any, text: str, success: bool) -> None:
    call = {"id": 1, "method": "item/tool/call", "params": {"tool": tool, "arguments": arguments}}
    tools = {each.native_name: each for each in definitions([half])}
    found, failure = answer_to(call, None, tools, Publisher())
    assert failure is None
    assert found == {"contentItems": [{"type": "inputText", "text": text}], "success": success}
