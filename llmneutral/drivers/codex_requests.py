"""What `codex app-server` asks in the middle of a turn: leave to do something, or to run a tool of the caller's.

Every request is answered. Nothing is ever allowed that a callback did not allow. The forms of the answers:
the schema that `codex app-server generate-json-schema` prints (0.171.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llmneutral.errors import ConfigurationError
from llmneutral.events import ApprovalAnsweredEvent, ApprovalRequestedEvent, Publisher
from llmneutral.ir.contents import ActionResultMessageContent
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.tools import ToolDefinition

OnApproval = Callable[[JSONObject], Any]
ALLOWED = ("accept", "acceptForSession", "decline", "cancel")


def answer_to(
    message: JSONObject, on_approval: OnApproval | None, tools: Mapping[str, ToolDefinition], tell: Publisher
) -> tuple[JSONObject | None, BaseException | None]:
    """Returns the answer to a request of the process (None: it is unknown), and what a callback raised.

    Args:
        message: The request.
        on_approval: Called with `{"method", **params}`; returns a decision.
        tools: The caller's tools by the name that codex was told.
        tell: Where approvals are published.
    """
    method, params = str(message["method"]), dict(message.get("params") or {})
    if method == "item/tool/call":
        return _tool_called(params, tools), None
    if method == "item/tool/requestUserInput":
        return {"answers": {}}, None
    write = ANSWERS.get(method)
    if write is None:
        return None, None
    request: JSONObject = {"method": method, **params}
    tell.publish(ApprovalRequestedEvent, request=request)
    decision, failure = _decided(request, on_approval)
    tell.publish(ApprovalAnsweredEvent, request=request, decision=decision)
    return write(decision, params), failure


def _decided(request: JSONObject, on_approval: OnApproval | None) -> tuple[Any, BaseException | None]:
    if on_approval is None:
        return "decline", None
    try:
        decision = on_approval(request)
    except BaseException as error:  # noqa: BLE001  # raised again as soon as the request is answered
        return "decline", error
    if isinstance(decision, bool):
        decision = "accept" if decision else "decline"
    if decision in ALLOWED or (isinstance(decision, dict) and decision):
        return decision, None
    return "decline", ConfigurationError(
        f"on_approval returned {decision!r}; it has to return one of {', '.join(ALLOWED)}, or an object of the protocol"
    )


def _decision(decision: Any, params: JSONObject) -> JSONObject:
    del params
    return {"decision": decision}


def _permissions(decision: Any, params: JSONObject) -> JSONObject:
    if isinstance(decision, dict):
        return decision if "permissions" in decision else {"permissions": decision, "scope": "turn"}
    if decision in ("accept", "acceptForSession"):
        scope = "session" if decision == "acceptForSession" else "turn"
        return {"permissions": params.get("permissions") or {}, "scope": scope}
    return {"permissions": {}, "scope": "turn"}


def _elicited(decision: Any, params: JSONObject) -> JSONObject:
    del params
    if isinstance(decision, dict):
        return decision if "action" in decision else {"action": "accept", "content": decision}
    return {"action": "accept" if decision == "acceptForSession" else decision, "content": None}


def _tool_called(params: JSONObject, tools: Mapping[str, ToolDefinition]) -> JSONObject:
    """Runs a tool; its failure is the model's to read."""
    name, arguments = str(params.get("tool")), params.get("arguments")
    tool = tools.get(name)
    if tool is None or tool.function is None:
        return _result(f"there is no tool {name}", success=False)
    if not isinstance(arguments, dict):
        return _result(f"the arguments of {name} are no object", success=False)
    try:
        output = tool.function(**arguments)
    except Exception as error:  # noqa: BLE001
        return _result(f"{type(error).__name__}: {error}", success=False)
    result = ActionResultMessageContent(None, output)
    return _result(result.to_text(), success=not result.is_error)


def _result(text: str, *, success: bool) -> JSONObject:
    return {"contentItems": [{"type": "inputText", "text": text}], "success": success}


ANSWERS: dict[str, Callable[[Any, JSONObject], JSONObject]] = {
    "item/commandExecution/requestApproval": _decision,
    "item/fileChange/requestApproval": _decision,
    "item/permissions/requestApproval": _permissions,
    "mcpServer/elicitation/request": _elicited,
}
"""How a decision is written, by request."""
