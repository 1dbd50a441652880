"""Conversions in progress, as the tests of the workshop need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmneutral import Message, Target, profile
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.settings import canonical_settings
from llmneutral.ir.tools import definitions
from llmneutral.transports import get_transport


def job(
    messages: Sequence[Message] = (),
    *,
    api: str = "anthropic_messages",
    model: str | None = None,
    tools: Sequence[Any] = (),
    facts: dict[str, Any] | None = None,
    host: str | None = None,
    trace: bool = False,
    **settings: Any,
) -> Job:
    """A conversion of some messages for an API."""
    target = Target(
        api, profile(api, model=model, facts=facts), model=model, host=host, settings=canonical_settings(settings)
    )
    return Job(get_transport(api), list(messages), definitions(tools), target, trace)


def run(step: Pass, messages: Sequence[Message], **options: Any) -> tuple[Messages, Job]:
    """The messages after a pass, and the job that ran it."""
    made = job(messages, **options)
    made.note.step = step.name
    return step.run(made.messages, made), made


def told(made: Job) -> list[tuple[str, list[tuple[int, int]]]]:
    """Kind and addresses of each change."""
    return [(change.kind, [tuple(ref) for ref in change.refs]) for change in made.note.changes]  # type: ignore[misc]
