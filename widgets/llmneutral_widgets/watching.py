"""What the events of one question tell: its request, its attempts, its calls, and what each of them cost.

A question is one call as a rule. An answer that does not fit its form is asked for again, and calls of tools that are
run are followed by another answer: each of these is a call of its own, with tokens, times and a price.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from llmneutral_widgets.pricing import OwnPrices
from llmneutral_widgets.views.usage import COUNTS

REJECTED, RETRIED = "rejected", "retried"
"""How a call ended that was asked again: its answer did not fit, or it failed."""
EMBEDDED = "local"
"""The provider that is the embedded model."""


class Watch:
    """Listens to the events of one question; tools may ask questions of their own, which are no matter here.

    Attributes:
        run_id: What its events carry.
        conversion: Its first request.
        requests: Every request, and whether it asks for a repair.
        began: When that was sent, by `perf_counter`.

    Args:
        run_id: As above; the calls have to be told of it.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.conversion: Any = None
        self.requests: list[tuple[Any, bool]] = []
        self.began = perf_counter()
        self._model: str | None = None
        self._first: float | None = None
        self._total: float | None = None
        self._retries: list[int] = []
        self._is_embedded: list[bool] = []
        self._finished: list[Any] = []
        self._rejected: set[int] = set()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listens in this context."""
        import llmneutral

        bus = llmneutral.EventBus
        with (
            bus.listening(self._start, llmneutral.StartPromptEvent),
            bus.listening(self._retry, llmneutral.RetryScheduledEvent),
            bus.listening(self._began_to_answer, llmneutral.FirstDeltaEvent),
            bus.listening(self._finish, llmneutral.FinishPromptEvent),
            bus.listening(self._repair, llmneutral.RepairTurnEvent),
        ):
            yield

    def _start(self, event: Any) -> None:
        if event.run_id != self.run_id:
            return
        if not self.requests:
            self.began = perf_counter()
            self.conversion = self.conversion or event.conversion
            self._model = event.model
        is_repair = bool(self._rejected) and max(self._rejected) == len(self._finished) - 1
        self.requests.append((event.conversion, is_repair))
        self._retries.append(0)
        self._is_embedded.append(_is_embedded(event))

    def _retry(self, event: Any) -> None:
        if event.run_id == self.run_id and self._retries:
            self._retries[-1] += 1

    def _began_to_answer(self, event: Any) -> None:
        if event.run_id == self.run_id and self._first is None:
            self._first = perf_counter() - self.began

    def _finish(self, event: Any) -> None:
        if event.run_id == self.run_id:
            self._finished.append(event)

    def _repair(self, event: Any) -> None:
        if event.run_id == self.run_id and self._finished:
            self._rejected.add(len(self._finished) - 1)

    def end(self) -> None:
        """Notes the end, once."""
        self._total = perf_counter() - self.began if self._total is None else self._total

    @property
    def timing(self) -> dict[str, Any]:
        """Seconds to the first piece and to the end, and how often a call was asked at most."""
        attempts = 1 + max(self._retries, default=0)
        return {"first_delta_s": self._first, "total_s": self._total, "attempts": attempts}

    def calls(self, last: Any, status: str, prices: OwnPrices) -> list[dict[str, Any]]:
        """Returns every call of the question in order, as they are kept in an exchange.

        Args:
            last: The answer, as far as it came: that of a call that has not come to its end.
            status: How the question ended.
            prices: The user's own prices; they come before published ones.
        """
        found: list[dict[str, Any]] = []
        for number, event in enumerate(self._finished):
            response = event.response
            retries = () if response.metadata is None else response.metadata.retries
            free = self._free(number, prices, response.model, event.model)
            found += [_call(RETRIED, usage=failed.usage, cost=free) for failed in retries]
            cost = prices.cost(response.usage, response.model, event.model) or event.cost
            told = {"model": response.model, "finish_reason": response.finish_reason}
            ended = REJECTED if number in self._rejected else "complete"
            found.append(_call(ended, usage=response.usage, metadata=response.metadata, cost=cost, **told))
        if len(self.requests) > len(self._finished):
            free = self._free(-1, prices, getattr(last, "model", None), self._model)
            found += [_call(RETRIED, cost=free) for _ in range(self._retries[-1])]
            found.append(_unfinished(last, status, free))
        elif found:
            found[-1]["status"] = status
        return found

    def _free(self, number: int, prices: OwnPrices, *models: str | None) -> Any:
        """What a call costs of which no tokens are known: the embedded model's is free, but at prices of the user's."""
        import llmneutral

        if not self._is_embedded[number]:
            return None
        usage = llmneutral.Usage()
        model = next((model for model in models if model), "")
        return prices.cost(usage, *models) or llmneutral.cost_of(usage, model=model, provider=EMBEDDED)


def stacks_of(asked: Any, rounds: Sequence[Any], requests: Sequence[tuple[Any, bool]]) -> list[Any]:
    """Returns what each request was made of, as far as the messages that were added between them tell it.

    Args:
        asked: The stack of the first.
        rounds: The messages between the question and the answer.
        requests: Each request, and whether it is a repair, whose messages may not be among them.
    """
    import llmneutral

    ends = [at for at in range(1, len(rounds) + 1) if not rounds[at - 1].is_assistant()]
    ends = [at for at in ends if at == len(rounds) or rounds[at].is_assistant()]
    later = [number for number, (_, is_repair) in enumerate(requests) if number and not is_repair]
    every = list(range(1, len(requests)))
    known = dict(
        zip(every if len(ends) >= len(every) else later if len(ends) >= len(later) else [], ends, strict=False)
    )
    frame = {"tools": asked.tools, "output_schema": asked.output_schema}
    found: list[Any] = [asked] * bool(requests)
    for number in every:
        at = known.get(number)
        settings = _unforced(asked.settings) if later and number >= later[0] else asked.settings
        messages = [*asked.messages, *rounds[: at or 0]]
        found.append(None if at is None else llmneutral.PromptStack(messages, settings=settings, **frame))
    return found


def _unforced(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a request that brings results: what forces a call counts for the first one, as for an Agent."""
    forces = settings.get("tool_choice") not in (None, "auto", "none")
    return {name: value for name, value in settings.items() if not (forces and name == "tool_choice")}


def _is_embedded(event: Any) -> bool:
    """Whether a request goes to the embedded model, and not to a server that only bears its name."""
    target = getattr(event.conversion, "target", event)
    return target.provider == EMBEDDED and not getattr(target, "base_url", None)


def _unfinished(response: Any, status: str, cost: Any) -> dict[str, Any]:
    """The call that failed or was interrupted; a count that was cut short is no count."""
    if response is None:
        return _call(status, cost=cost)
    metadata = response.metadata
    spent = response.usage if metadata is None or metadata.last_usage is None else metadata.last_usage
    told = {"model": response.model, "finish_reason": response.finish_reason}
    return _call(status, usage=None if status == "interrupted" else spent, metadata=metadata, cost=cost, **told)


def _call(
    status: str,
    *,
    usage: Any = None,
    metadata: Any = None,
    cost: Any = None,
    model: str | None = None,
    finish_reason: str | None = None,
) -> dict[str, Any]:
    amount = getattr(cost, "amount", None)
    return {
        "status": status,
        "model": model,
        "finish_reason": finish_reason,
        "usage": {name: getattr(usage, name, None) for name in COUNTS},
        "timing": {
            "first_delta_s": getattr(metadata, "first_delta", None),
            "total_s": getattr(metadata, "total", None),
        },
        "cost": {
            "amount": None if amount is None else float(amount),
            "currency": None if amount is None else cost.currency,
            "source": None if amount is None else cost.source,
        },
    }


def cost_of_all(calls: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns what a question cost, as an exchange keeps it: nobody knows it, unless it is known of every answer."""
    costs = [call["cost"] for call in calls if call["status"] != RETRIED or call["cost"]["amount"] is not None]
    if not costs or any([cost["amount"] is None for cost in costs]):
        return {}
    sources = dict.fromkeys([str(cost["source"]) for cost in costs])
    return {
        "amount": sum([cost["amount"] for cost in costs]),
        "currency": costs[0]["currency"],
        "source": ", ".join(sources),
    }
