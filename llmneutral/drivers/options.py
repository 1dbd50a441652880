"""The options of a call that are no settings: how often, how long, and what becomes of a failure.

They are arguments of a driver, may be overridden per call, and never reach a payload.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn, Self, get_args

import msgspec

from llmneutral.convert.settings import shown
from llmneutral.errors import ConfigurationError
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.responses import FinishReason

LONGEST = 1e9
"""Seconds, about 30 years: no clock can wait much longer."""

REASONS: frozenset[str] = frozenset(get_args(FinishReason))


class CallOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one call.

    Attributes:
        max_attempts: Most requests of the call, the first one included.
        retry_deadline: Most seconds of all waits between the attempts together.
        timeout: Seconds for the call as a whole, attempts and waits included; None: no bound but those of the wire. A
            stream that falls silent is noticed when its next piece is due, so at the latest after twice the time.
        on_error: What a provider's failure does: `raise`, or `return` the response with `error` set.
        raise_on: Finish reasons that are raised, such as `refusal`, `content_filter` or `length`.
        meta: What the events of the call carry along.
        run_id: The run the call belongs to, for its events.
        record: Whether a stream keeps its raw chunks.
        redact: Applied to a payload before an event shows it.
        max_repairs: How often an answer that does not fit its output schema is asked for again, each time by a further
            call, which is billed and has attempts of its own; 0: never.
        keep_repairs: Whether the rejected answers, and what was said to them, are kept for the conversation: then
            `response.messages` has them before the last answer.
    """

    max_attempts: int = 3
    retry_deadline: float = 60.0
    timeout: float | None = None
    on_error: Literal["raise", "return"] = "raise"
    raise_on: frozenset[str] = frozenset()
    meta: JSONObject | None = None
    run_id: str | None = None
    record: bool = False
    redact: Callable[[JSONObject], JSONObject] | None = None
    max_repairs: int = 1
    keep_repairs: bool = False

    def taken(self, given: Mapping[str, Any]) -> tuple[Self, dict[str, Any]]:
        """Returns these options overridden by what is given, and the rest of what is given.

        Raises:
            ConfigurationError: If a value is not one the option takes.
        """
        rest = dict(given)
        own = {name: CHECKS[name](name, rest.pop(name)) for name in CHECKS if name in rest}
        return (msgspec.structs.replace(self, **own) if own else self), rest


def _refuse(name: str, value: Any, wanted: str) -> NoReturn:
    raise ConfigurationError(f"the option {name} is {shown(value)}; it has to be {wanted}")


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and (abs(value) <= LONGEST or value == math.inf)
    )


def _attempts(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        _refuse(name, value, "a whole number from 1")
    return value


def _repairs(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _refuse(name, value, "a whole number from 0")
    return value


def _seconds(name: str, value: Any) -> float:
    if not _is_number(value) or value < 0:
        _refuse(name, value, "seconds, from 0")
    return float(value)


def above_zero(name: str, value: Any) -> float:
    """Returns a number of seconds above 0.

    Raises:
        ConfigurationError: If it is none.
    """
    if not _is_number(value) or value <= 0:
        _refuse(name, value, "seconds above 0")
    return float(value)


def _timeout(name: str, value: Any) -> float | None:
    return None if value is None else above_zero(name, value)


def _on_error(name: str, value: Any) -> Any:
    if value not in ("raise", "return"):
        _refuse(name, value, "'raise' or 'return'")
    return value


def _raise_on(name: str, value: Any) -> frozenset[str]:
    reasons = frozenset([value] if isinstance(value, str) else value or ())
    if not reasons <= REASONS:
        _refuse(name, value, f"finish reasons: {', '.join(sorted(REASONS))}")
    return reasons


def _meta(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, Mapping):
        _refuse(name, value, "an object, or None")
    return None if value is None else dict(value)


def _run_id(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        _refuse(name, value, "text, or None")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        _refuse(name, value, "True or False")
    return value


def _callable(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        _refuse(name, value, "a callable payload -> payload, or None")
    return value


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "max_attempts": _attempts,
    "retry_deadline": _seconds,
    "timeout": _timeout,
    "on_error": _on_error,
    "raise_on": _raise_on,
    "meta": _meta,
    "run_id": _run_id,
    "record": _flag,
    "redact": _callable,
    "max_repairs": _repairs,
    "keep_repairs": _flag,
}
