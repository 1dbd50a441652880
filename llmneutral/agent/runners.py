"""The two loops that wait: they do what a run asks for, one in sync and one in async code.

Whatever they meet, an interrupt too, is thrown into the run, which keeps what was done and lets it pass on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

from llmneutral.agent.loop import Act, Ask, Flow, Recall, Tell
from llmneutral.agent.run import Run
from llmneutral.agent.running import arun_batch, run_batch
from llmneutral.drivers.threads import in_thread
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.messages import Message

Deltas = Generator[DeltaMessage, None, Any]


def run(flow: Flow, state: Run, *, streamed: bool) -> Generator[DeltaMessage, None, None]:
    """Runs a run in sync code, and yields its deltas where it is streamed."""
    step: Any = None
    try:
        step = flow.send(None)
        while True:
            try:
                answer = yield from _done(step, state, streamed)
            except BaseException as error:  # noqa: BLE001  # the run lets it pass on
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration:
        return
    finally:
        flow.close()


def _done(step: Any, state: Run, streamed: bool) -> Deltas:
    stop = state.stopping
    stop.check()
    if isinstance(step, Recall):
        return _recalled(state)
    if isinstance(step, Act):
        run_batch(step.batch, step.bounds, stop=stop)
        return None
    if isinstance(step, Tell):
        if streamed:
            yield from step.deltas
        return None
    assert isinstance(step, Ask)
    if not streamed:
        return state.driver.run(step.stack, **step.overrides)
    with state.driver.stream(step.stack, **step.overrides) as stream:
        state.coming = stream
        stop.wakes(stream.cancel)
        yield from stream
    stop.over()
    return stream.response


async def arun(flow: Flow, state: Run, *, streamed: bool) -> AsyncGenerator[DeltaMessage, None]:
    """Runs a run in async code, and yields its deltas where it is streamed."""
    step: Any = None
    answer: Any = None
    stop = state.stopping
    try:
        step = flow.send(None)
        while True:
            try:
                stop.check()
                if isinstance(step, Ask) and streamed:
                    async with state.driver.astream(step.stack, **step.overrides) as stream:
                        state.coming = stream
                        stop.wakes(stream.cancel)
                        async for delta in stream:
                            yield delta
                    stop.over()
                    answer = stream.response
                elif isinstance(step, Tell):
                    for delta in step.deltas if streamed else ():
                        yield delta
                else:
                    answer = await (stop.awaited(_adone(step, state)) if streamed else _adone(step, state))
            except BaseException as error:  # noqa: BLE001  # the run lets it pass on
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration:
        return
    finally:
        flow.close()


async def _adone(step: Any, state: Run) -> Any:
    if isinstance(step, Act):
        return await arun_batch(step.batch, step.bounds)
    if isinstance(step, Ask):
        return await state.driver.arun(step.stack, **step.overrides)
    if state.memory is not None and state.memory.count is not None:  # a provider may count the tokens
        return await in_thread(_recalled, state)
    return _recalled(state)


def _recalled(state: Run) -> tuple[Message, ...]:
    return () if state.memory is None else state.memory.recall(state.system)
