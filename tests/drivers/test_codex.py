"""The driver of codex app-server, against a process that plays a script of recorded lines."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    AuthenticationError,
    BaseEvent,
    CodexAppServerPromptDriver,
    ConfigurationError,
    ConversionError,
    MissingExtraError,
    OverloadedError,
    PromptStack,
    ProviderTimeoutError,
    RateLimitError,
    StreamInterruptedError,
    make_driver,
)
from tests.drivers.codex_script import COMPLETED, DIE, HOLD, Scene, Step, answer, failed, item, piece, said, spent


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.close()


def heard(driver: Any) -> list[BaseEvent]:
    events: list[BaseEvent] = []
    driver.on(BaseEvent, events.append)
    return events


def goes_on(stack: PromptStack, response: Any, text: str) -> PromptStack:
    stack.messages.append(response.message)
    stack.add_user_message(text)
    return stack


def test_an_answer(scene: Scene) -> None:
    driver = scene.driver(answer("hello"))
    response = driver.run("hi")
    assert (response.text, response.finish_reason, response.complete) == ("hello", "stop", True)
    assert (response.id, response.model) == ("turn1", "gpt-codex")
    assert scene.lines()[0]["method"] == "initialize"
    assert scene.lines()[1] == {"method": "initialized"}
    assert all("jsonrpc" not in line for line in scene.lines())
    [started] = scene.asked("thread/start")
    folder = started.pop("cwd")
    assert started == {"sandbox": "read-only", "approvalPolicy": "never", "ephemeral": True}
    assert os.listdir(folder) == []
    driver.close()
    assert not os.path.exists(folder)


def test_a_streamed_answer(scene: Scene) -> None:
    stream = scene.driver(answer("hello")).stream("hi")
    assert [delta.kind for delta in stream] == ["start", "text", "text", "block_done", "finish", "end"]
    assert stream.response.text == "hello"


def test_the_async_twin(scene: Scene) -> None:
    async def ask() -> str:
        return str((await scene.driver(answer("hello")).arun("hi")).text)

    assert asyncio.run(ask()) == "hello"


def test_nothing_starts_before_the_first_call(scene: Scene) -> None:
    scene.driver(answer())
    assert not scene.log.exists()


def test_a_conversation_stays_in_its_thread(scene: Scene) -> None:
    driver = scene.driver([*answer("hello")[:-1], spent(10), COMPLETED], [*answer("fine")[:-1], spent(14), COMPLETED])
    events, stack = heard(driver), PromptStack.from_openai([{"role": "system", "content": "Be brief"}])
    stack.add_user_message("hi")
    first = driver.run(stack)
    second = driver.run(goes_on(stack, first, "how are you"))
    assert (first.usage.input_total, second.usage.input_total) == (10, 4)  # the second turn's own
    [started] = scene.asked("thread/start")
    assert started["developerInstructions"] == "Be brief"
    assert [turn["threadId"] for turn in scene.asked("turn/start")] == ["thread1", "thread1"]
    assert scene.asked("turn/start")[1]["input"] == [{"type": "text", "text": "how are you"}]
    assert "ConversionChangedEvent" not in [event.type for event in events]


def test_another_history_begins_a_thread_and_is_told_in_one_text(scene: Scene) -> None:
    driver = scene.driver(answer("hello"), answer("fine"))
    events = heard(driver)
    driver.run("hi")
    driver.run(
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
        ]
    )
    assert [turn["threadId"] for turn in scene.asked("turn/start")] == ["thread1", "thread2"]
    told = "Earlier conversation:\n\nuser: a\n\nassistant: b"
    assert scene.asked("turn/start")[1]["input"] == [{"type": "text", "text": told}, {"type": "text", "text": "c"}]
    assert scene.asked("thread/unsubscribe") == [{"threadId": "thread1"}]
    [change] = [event.change for event in events if event.type == "ConversionChangedEvent"]  # type: ignore[attr-defined]
    assert (change.step, change.kind) == ("history", "rewritten")
    assert [tuple(ref) for ref in change.refs] == [(0, 0), (1, 0)]


def test_settings_that_have_a_place_and_those_that_have_none(scene: Scene) -> None:
    driver = scene.driver(answer(), model="m", reasoning_effort="low")
    events = heard(driver)
    driver.run("hi", temperature=0.5, reasoning_summary="concise")
    [turn] = scene.asked("turn/start")
    assert (turn["model"], turn["effort"], turn["summary"]) == ("m", "low", "concise")
    assert "temperature" not in turn
    whys = [event.change.why for event in events if event.type == "ConversionChangedEvent"]  # type: ignore[attr-defined]
    assert whys == ["temperature: codex app-server has no place for it"]


def test_an_output_schema_is_enforced_and_read(scene: Scene) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    response = scene.driver(answer('{"n": 3}')).run("hi", output_schema=schema)
    assert response.parsed == {"n": 3}
    assert scene.asked("turn/start")[0]["outputSchema"]["additionalProperties"] is False


# --- failures -----------------------------------------------------------------------------------


def test_a_failed_turn_is_raised_and_never_repeated(scene: Scene) -> None:
    driver = scene.driver([piece("par"), failed("usageLimitExceeded")], answer())
    with pytest.raises(RateLimitError, match="it failed") as caught:
        driver.run("hi")
    assert (caught.value.attempts, caught.value.retryable, caught.value.raw_type) == (1, False, "usageLimitExceeded")
    assert caught.value.partial.text == "par"
    assert len(scene.asked("turn/start")) == 1


def test_an_error_that_codex_repeats_itself_is_none(scene: Scene) -> None:
    error = said("error", error={"message": "lost", "codexErrorInfo": "other"}, willRetry=True)
    assert scene.driver([error, *answer("hello")]).run("hi").text == "hello"


def test_the_death_of_the_process_keeps_what_came(scene: Scene) -> None:
    driver = scene.driver([piece("hel"), DIE])
    with pytest.raises(StreamInterruptedError, match="the last words") as caught:
        driver.run("hi")
    assert (caught.value.partial.text, caught.value.partial.complete, caught.value.attempts) == ("hel", False, 1)
    scene.command(answer("again"))
    assert driver.run("hi").text == "again"


def test_an_overloaded_server_is_asked_again(scene: Scene) -> None:
    driver = scene.driver(script={"errors": {"turn/start": {"code": -32001, "message": "Server overloaded"}}})
    slept: list[float] = []
    driver.sleep = slept.append
    with pytest.raises(OverloadedError):
        driver.run("hi", max_attempts=2)
    assert (len(slept), len(scene.asked("turn/start"))) == (1, 2)


def test_a_missing_program_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match="npm install -g @openai/codex"):
        CodexAppServerPromptDriver(command=["no-such-codex"]).run("hi")


def test_a_login_that_is_missing_is_told(scene: Scene) -> None:
    driver = scene.driver(script={"results": {"account/read": {"account": None, "requiresOpenaiAuth": True}}})
    with pytest.raises(AuthenticationError, match="codex login"):
        driver.run("hi")


@pytest.mark.parametrize("option", [{"api_key": "k"}, {"base_url": "http://x"}, {"sandbox": "none"}, {"command": "c"}])
def test_what_has_no_place_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(option))):
        CodexAppServerPromptDriver(**option)


def test_what_cannot_be_told_is_refused_before_anything_starts(scene: Scene) -> None:
    driver = scene.driver()
    with pytest.raises(ConversionError, match="dynamic_tools=True"):
        driver.run("hi", tools=[twice])
    with pytest.raises(ConversionError, match="no payload"):
        driver.preview("hi")
    assert not scene.log.exists()


# --- interrupts ---------------------------------------------------------------------------------


def test_a_stream_that_is_closed_interrupts_the_turn(scene: Scene) -> None:
    driver = scene.driver([piece("hel"), HOLD], answer("next"))
    stream = driver.stream("hi")
    assert next(delta.text for delta in stream if delta.kind == "text") == "hel"
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 2
    assert (stream.response.text, stream.response.complete) == ("hel", False)
    assert scene.asked("turn/interrupt") == [{"threadId": "thread1", "turnId": "turn1"}]
    assert driver.run("hi").text == "next"
    assert scene.asked("turn/start")[1]["threadId"] == "thread2"


def test_a_keyboard_interrupt_interrupts_the_turn_and_goes_on(scene: Scene) -> None:
    driver = scene.driver([piece("hel"), HOLD])
    stream = driver.stream("hi")
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    timer.join()
    assert (stream.response.text, stream.response.complete) == ("hel", False)
    assert len(scene.asked("turn/interrupt")) == 1


def test_a_task_that_is_cancelled_interrupts_a_silent_turn(scene: Scene) -> None:
    driver = scene.driver([piece("hel"), HOLD])

    async def ask() -> None:
        await asyncio.wait_for(driver.arun("hi"), 0.4)

    with pytest.raises(TimeoutError):
        asyncio.run(ask())
    until = time.monotonic() + 4
    while not scene.asked("turn/interrupt") and time.monotonic() < until:
        time.sleep(0.05)
    assert len(scene.asked("turn/interrupt")) == 1


def test_a_time_out_is_noticed_in_silence(scene: Scene) -> None:
    driver = scene.driver([HOLD])
    began = time.monotonic()
    with pytest.raises(ProviderTimeoutError):
        driver.run("hi", timeout=0.5)
    assert time.monotonic() - began < 4
    assert len(scene.asked("turn/start")) == len(scene.asked("turn/interrupt")) == 1


# --- approvals and tools ------------------------------------------------------------------------

RUN: Step = {
    "id": 7,
    "method": "item/commandExecution/requestApproval",
    "params": {"itemId": "i", "command": "rm -r x", "cwd": "c", "startedAtMs": 1},
}


def answered(scene: Scene, number: int) -> dict[str, Any]:
    [line] = scene.lines(lambda line: line.get("id") == number and "method" not in line)
    return line


def test_everything_is_declined_by_default_and_told(scene: Scene) -> None:
    driver = scene.driver([RUN, *answer()])
    events = heard(driver)
    driver.run("hi")
    assert answered(scene, 7)["result"] == {"decision": "decline"}
    told = [event for event in events if event.type.startswith("Approval")]
    assert [event.type for event in told] == ["ApprovalRequestedEvent", "ApprovalAnsweredEvent"]
    assert told[0].request["command"] == "rm -r x"  # type: ignore[attr-defined]
    assert told[1].decision == "decline"  # type: ignore[attr-defined]


def test_a_callback_decides(scene: Scene) -> None:
    asked: list[Any] = []

    def leave(request: Any) -> str:
        asked.append(request["method"])
        return "accept"

    scene.driver([RUN, *answer()], on_approval=leave, approval_policy="on-request").run("hi")
    assert asked == ["item/commandExecution/requestApproval"]
    assert answered(scene, 7)["result"] == {"decision": "accept"}
    assert scene.asked("thread/start")[0]["approvalPolicy"] == "on-request"


def test_a_callback_that_fails_declines_and_is_raised(scene: Scene) -> None:
    def leave(request: Any) -> str:
        raise KeyError(request["method"])

    with pytest.raises(KeyError):
        scene.driver([RUN, HOLD], on_approval=leave).run("hi")
    assert answered(scene, 7)["result"] == {"decision": "decline"}
    assert len(scene.asked("turn/interrupt")) == 1


def test_an_unknown_request_is_refused(scene: Scene) -> None:
    unknown: Step = {"id": "x9", "method": "item/new/thing", "params": {}}
    assert scene.driver([unknown, *answer("hello")]).run("hi").text == "hello"
    [line] = scene.lines(lambda line: line.get("id") == "x9")
    assert line["error"]["code"] == -32601


def twice(n: int) -> int:
    """Doubles."""
    return 2 * n


def test_the_callers_tools_are_run_in_the_turn(scene: Scene) -> None:
    call: Step = {
        "id": 8,
        "method": "item/tool/call",
        "params": {"callId": "c", "tool": "twice", "arguments": {"n": 4}},
    }
    done = item("dynamicToolCall", "c", tool="twice", arguments={"n": 4}, status="completed")
    response = scene.driver([call, done, *answer("8")], dynamic_tools=True).run("hi", tools=[twice])
    assert answered(scene, 8)["result"] == {"contentItems": [{"type": "inputText", "text": "8"}], "success": True}
    assert scene.asked("initialize")[0]["capabilities"] == {"experimentalApi": True}
    [tool] = scene.asked("thread/start")[0]["dynamicTools"]
    assert (tool["type"], tool["name"], tool["description"]) == ("function", "twice", "Doubles.")
    assert [block["type"] for block in response.to_dict()["blocks"]] == ["generic", "text"]


# --- several at once, and by name ---------------------------------------------------------------


def test_calls_of_several_threads_do_not_mix(scene: Scene) -> None:
    driver = scene.driver(*[answer(f"answer {n}") for n in range(4)])
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(driver.run("hi").text)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(texts) == [f"answer {n}" for n in range(4)]
    assert len(scene.asked("initialize")) == 1


def test_it_is_made_by_its_api_mode() -> None:
    assert isinstance(make_driver("codex_app_server", model=None), CodexAppServerPromptDriver)
