"""When a failed request is repeated, and after how long. Tenacity decides; these are its objects.

Only errors that the taxonomy calls retryable are repeated: a KeyboardInterrupt, a cancellation or a bug
never is. Sources: the retry rules of the official SDKs (408, 409, 429, ≥ 500, connection), RFC 9110
for Retry-After.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import tenacity

from llmneutral.errors import LLMNeutralError

BASE, LONGEST = 0.5, 8.0


class retry_if_retryable(tenacity.retry_base):  # noqa: N801  # named as tenacity names its own
    """Repeats what failed with an error of the taxonomy that may succeed later."""

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        """Tells whether the last attempt is to be repeated."""
        outcome = retry_state.outcome
        if outcome is None or not outcome.failed:
            return False
        error = outcome.exception()
        return isinstance(error, LLMNeutralError) and error.retryable


class wait_as_told(tenacity.wait.wait_base):  # noqa: N801
    """Waits at least as long as the provider asks, else 0.5 · 2^k seconds, at most 8, with full jitter."""

    def __init__(self, jitter: Callable[[float, float], float] = random.uniform) -> None:
        self.jitter = jitter

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        """Returns seconds."""
        told = retry_after(retry_state)
        ceiling = min(LONGEST, BASE * 2 ** (retry_state.attempt_number - 1))
        waited = self.jitter(0, ceiling)
        return waited if told is None else max(told, 0.0)


class stop_at(tenacity.stop.stop_base):  # noqa: N801
    """Stops after a number of requests, or when all waits together would exceed a deadline in seconds."""

    def __init__(self, attempts: int, deadline: float) -> None:
        self.attempts = attempts
        self.deadline = deadline

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        """Tells whether no further request is sent."""
        if retry_state.attempt_number >= self.attempts:
            return True
        return bool(retry_state.idle_for + retry_state.upcoming_sleep > self.deadline)


def retry_after(retry_state: tenacity.RetryCallState) -> float | None:
    """Returns the seconds the provider asked to wait, or None."""
    outcome = retry_state.outcome
    error: Any = outcome.exception() if outcome is not None and outcome.failed else None
    return getattr(error, "retry_after", None)


def retrying(
    attempts: int = 3, deadline: float = 60.0, jitter: Callable[[float, float], float] = random.uniform
) -> tenacity.Retrying:
    """Returns the policy of one call: at most `attempts` requests, all waits together at most `deadline` seconds."""
    return tenacity.Retrying(
        retry=retry_if_retryable(), wait=wait_as_told(jitter), stop=stop_at(attempts, deadline), reraise=True
    )
