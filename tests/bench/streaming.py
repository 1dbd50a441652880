"""Streams over loopback HTTP: CPU per delta, and the time to the first one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx2

from tests.bench import providers as p
from tests.bench.measure import compare, medians
from tests.bench.sdks import Call
from tests.bench.table import Row, show

DELTAS = 5_000
FEW = 20
RAW_AIMS = {"chat_completions": 10 / 9.7, "codex_responses": 10 / 9.7, "anthropic_messages": 9 / 8.4}
"""Ours with one listener, as ratios to httpx2 with `json.loads`."""

TYPED_AIMS = {"chat_completions": 0.15, "codex_responses": 0.15, "anthropic_messages": 0.55}
"""Ours with one listener, as ratios to the SDK's typed iterator."""

FIRST_AIMS = {"chat_completions": 0.7, "codex_responses": 0.7, "anthropic_messages": 0.9}
"""Ours, as ratios to the SDK's typed iterator."""

RAW, LEAN, TYPED, OURS, HEARD = "httpx2 + json.loads", "SDK lean", "SDK typed", "ours", "ours, one listener"
Sides = dict[str, Callable[[], Any]]


# --- CPU per delta ------------------------------------------------------------------------------


def per_delta(url: str, rounds: int = 3) -> None:
    """CPU per delta of 5,000, in sync and in async code."""
    base = f"{url}/{DELTAS}"
    with asyncio.Runner() as runner:
        for api in p.APIS:
            _show(api, "sync", compare(_sync_sides(api, base), rounds))
            _show(api, "async", compare(_async_sides(api, base, runner.run), rounds))


def _sync_sides(api: p.Api, base: str) -> Sides:
    """All who read a stream in sync code."""
    client, web = p.sdk_client(api, base), httpx2.Client(timeout=60.0)
    ours, heard = p.driver(api, base), p.driver(api, base, listens=True)

    def read(call: Call) -> None:
        _drain(call(client, api.body))

    return {
        "http.client + json": lambda: _drain(p.standard_library(api, base)),
        RAW: lambda: _drain(p.raw(api, base, web)),
        **{name: partial(read, call) for name, call in sdk_calls(api).items()},
        OURS: lambda: _drain(ours.stream(p.QUESTION)),
        HEARD: lambda: _drain(heard.stream(p.QUESTION)),
    }


def _async_sides(api: p.Api, base: str, run: Callable[[Any], object]) -> Sides:
    """All who read a stream in async code; not every SDK does."""
    client, web = p.sdk_client(api, base, asynchronous=True), httpx2.AsyncClient(timeout=60.0)
    ours, heard = p.driver(api, base), p.driver(api, base, listens=True)
    calls = sdk_calls(api) if api.sdk.tells_async else {}

    async def opened(call: Call) -> None:
        await _adrain(await call(client, api.body))

    def read(call: Call) -> None:
        run(opened(call))

    return {
        RAW: lambda: run(_adrain(p.araw(api, base, web))),
        **{name: partial(read, call) for name, call in calls.items()},
        OURS: lambda: run(_adrain(ours.astream(p.QUESTION))),
        HEARD: lambda: run(_adrain(heard.astream(p.QUESTION))),
    }


def sdk_calls(api: p.Api) -> dict[str, Call]:
    """The ways of an SDK to a stream."""
    found = {LEAN: api.sdk.lean_streamed, TYPED: api.sdk.streamed}
    return {name: call for name, call in found.items() if call is not None}


def _drain(chunks: Any) -> None:
    for _ in chunks:
        pass


async def _adrain(chunks: Any) -> None:
    async for _ in chunks:
        pass


def _show(api: p.Api, how: str, taken: dict[str, float]) -> None:
    each = {name: seconds / DELTAS * 1e6 for name, seconds in taken.items()}
    rows = [
        Row(name, figure, each[RAW], RAW_AIMS.get(api.mode) if name in (OURS, HEARD) else None)
        for name, figure in each.items()
    ]
    if TYPED in each:
        rows.append(Row(f"{HEARD}, to SDK typed", each[HEARD], each[TYPED], TYPED_AIMS.get(api.mode)))
    show(f"{api.mode}, streamed, {how}", "µs a delta", rows)


# --- the first delta ----------------------------------------------------------------------------


def first_delta(url: str, rounds: int = 31) -> None:
    """CPU from the call to the first piece of text."""
    base, rows = f"{url}/{FEW}", []
    for api in p.APIS:
        taken = medians(_first_sides(api, base), rounds)
        sdk = taken[TYPED] * 1e3
        rows += [Row(f"{api.mode}: {name}", seconds * 1e3, sdk) for name, seconds in taken.items()]
        rows[-1] = rows[-1]._replace(ratio_aim=FIRST_AIMS.get(api.mode))
    show("to the first delta", "ms CPU", rows)


def _first_sides(api: p.Api, base: str) -> dict[str, Callable[[], float]]:
    client, ours = p.sdk_client(api, base), p.driver(api, base)
    tells = {LEAN: api.is_text, TYPED: api.is_typed_text}
    return {
        **{
            name: partial(_until_first, partial(call, client, api.body), tells[name])
            for name, call in sdk_calls(api).items()
        },
        OURS: lambda: _until_first(lambda: ours.stream(p.QUESTION), lambda delta: delta.kind == "text"),
    }


def _until_first(opens: Callable[[], Any], is_text: Callable[[Any], bool]) -> float:
    """The rest of the stream is read too, so that the connection is kept, but it does not count."""
    began, taken = time.process_time(), 0.0
    for chunk in opens():
        if not taken and is_text(chunk):
            taken = time.process_time() - began
    return taken
