"""A question for each row of a table: in order, side by side, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from typing import Any

import msgspec
import pandas
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import (
    BasePromptDriver,
    ConfigurationError,
    Defaults,
    DriversConfig,
    Message,
    NormalizedResponse,
    RateLimitError,
    Usage,
)
from llmneutral.frames import FrameInterrupt, run_frame, usage_frame
from llmneutral.ir.responses import COUNTS
from tests.drivers.endpoints import TEXT, body_of, driver_for
from tests.loopback import Loopback, whole


class Saying(BasePromptDriver):
    """Says what it was asked, or does what a function of the test says."""

    needs_key = False

    def __init__(self, say: Any = lambda text: text, **options: Any) -> None:
        super().__init__("said", max_attempts=1, **options)
        self.say = say
        self.heard: list[str] = []
        self.settings_heard: list[dict[str, Any]] = []

    def try_run(self, stack: Any) -> Message:
        text = stack.messages[-1].to_text()
        self.heard.append(text)
        self.settings_heard.append(stack.settings)
        return Message(Message.ASSISTANT_ROLE, (llmneutral.TextMessageContent(str(self.say(text))),))


CITIES = pandas.DataFrame({"city": ["Oslo", "Rome", "Lima"], "n": [1, 2, 3], "x": [0.5, None, 1.5]}, index=[7, 3, 3])


class City(pydantic.BaseModel):
    name: str


def test_a_row_a_question_in_their_order() -> None:
    before = CITIES.copy()
    found = run_frame(CITIES, r"{{city}} has {{ n }} and \{{n}}", Saying())
    assert found["answer"].tolist() == ["Oslo has 1 and {{n}}", "Rome has 2 and {{n}}", "Lima has 3 and {{n}}"]
    assert found["status"].tolist() == ["complete"] * 3
    assert found.index.tolist() == [7, 3, 3]
    assert found.columns[:3].tolist() == ["city", "n", "x"]
    assert "parsed" not in found
    pandas.testing.assert_frame_equal(CITIES, before)


@given(st.lists(st.text(max_size=8), max_size=9), st.integers(1, 5))
def test_whatever_stands_in_the_rows_comes_back_in_order(values: list[str], concurrency: int) -> None:
    frame = pandas.DataFrame({"a": pandas.Series(values, dtype="object")})
    found = run_frame(frame, "<{{a}}>", Saying(), concurrency=concurrency)
    assert found["answer"].tolist() == [f"<{value}>" for value in values]
    assert len(found) == len(values)


def test_the_types_can_hold_what_is_not_known() -> None:
    found = run_frame(CITIES, "{{city}}", Saying())
    assert {name: str(found[name].dtype) for name in found.columns[3:]} == {
        **dict.fromkeys(("answer", "status", "error", "finish_reason"), "string"),
        **dict.fromkeys(COUNTS, "Int64"),
        "total_s": "Float64",
    }
    assert found["input_total"].isna().all()
    assert found["error"].isna().all()
    assert (found["total_s"] >= 0).all()


def test_one_row_s_failure_is_its_own() -> None:
    def say(text: str) -> str:
        if text == "Rome":
            raise RateLimitError("later")
        if text == "Lima":
            raise ValueError("odd")
        return text

    found = run_frame(CITIES, "{{city}}", Saying(say))
    assert found["status"].tolist() == ["complete", "failed", "failed"]
    assert found["answer"].fillna("-").tolist() == ["Oslo", "-", "-"]
    told = "rate_limit_error: later. Wait before the next request, and send fewer at a time."
    assert found["error"].fillna("-").tolist() == ["-", told, "ValueError: odd"]


def test_a_value_without_a_text_is_its_rows_failure() -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("no text")

    found = run_frame(pandas.DataFrame({"a": [Odd(), [1, 2], "x"]}), "{{a}}", Saying())
    assert found["status"].tolist() == ["failed", "complete", "complete"]
    assert found["answer"].tolist()[1:] == ["[1, 2]", "x"]


def test_a_row_without_a_value_is_not_asked() -> None:
    driver = Saying()
    found = run_frame(CITIES, "{{x}}", driver)
    assert found["status"].tolist() == ["complete", "skipped", "complete"]
    assert sorted(driver.heard) == ["0.5", "1.5"]


def test_over_a_wire_with_counts() -> None:
    with Loopback(lambda request: whole(body_of("chat_completions"))) as server:
        driver = driver_for("chat_completions", server)
        found = run_frame(CITIES, "{{city}}?", driver, max_tokens=20)
        driver.close()
        asked = sorted(request.json["messages"][-1]["content"] for request in server.requests)
    assert asked == ["Lima?", "Oslo?", "Rome?"]
    assert found["answer"].tolist() == [TEXT[0][1]] * 3
    assert (found["output_total"] > 0).all()
    assert all(request.json["max_tokens"] == 20 for request in server.requests)


def test_values_in_a_form() -> None:
    def say(text: str) -> str:
        return "no" if text.startswith("Rome") else f'{{"name": "{text[:4]}"}}'

    strategy: dict[str, Any] = {"structured_output_strategy": "rule", "max_repairs": 0}
    found = run_frame(CITIES, "{{city}}", Saying(say), into=City, **strategy)
    assert found["parsed"].tolist() == [City(name="Oslo"), None, City(name="Lima")]
    assert found["status"].tolist() == ["complete", "failed", "complete"]
    assert found["answer"].tolist()[1] == "no", "what had come is kept"
    as_dicts = run_frame(CITIES[:1], "{{city}}", Saying(say), into=City.model_json_schema(), **strategy)
    assert as_dicts["parsed"].tolist() == [{"name": "Oslo"}]


def test_so_many_at_a_time_in_the_caller_s_context() -> None:
    place: ContextVar[str] = ContextVar("place", default="nowhere")
    lock, running, most, seen = threading.Lock(), [0], [0], []

    def say(text: str) -> str:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.05)
        with lock:
            running[0] -= 1
            seen.append(place.get())
        return text

    token = place.set("here")
    try:
        run_frame(pandas.DataFrame({"a": range(9)}), "{{a}}", Saying(say), concurrency=3)
    finally:
        place.reset(token)
    assert most[0] == 3
    assert seen == ["here"] * 9


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_interrupt_has_the_rows_that_are_done(concurrency: int) -> None:
    def say(text: str) -> str:
        if text == "3":
            raise KeyboardInterrupt
        if int(text) > 3:
            time.sleep(0.3)
        return text

    driver = Saying(say)
    with pytest.raises(KeyboardInterrupt, match="of 20 rows are complete") as raised:
        run_frame(pandas.DataFrame({"a": range(20)}), "{{a}}", driver, concurrency=concurrency)
    assert isinstance(raised.value, FrameInterrupt)
    line, told, hint = raised.value._render_traceback_()  # in a notebook
    assert line.endswith(': run_frame(pandas.DataFrame({"a": range(20)}), "{{a}}", driver, concurrency=concurrency)')
    assert told == f"FrameInterrupt: {raised.value}"
    assert "sys.last_value.frame" in hint
    found = raised.value.frame
    assert len(found) == 20
    assert found["status"].tolist()[3:] == ["interrupted"] * 17
    if concurrency == 1:
        assert found["answer"].tolist()[:3] == ["0", "1", "2"]
    asked = len(driver.heard)
    time.sleep(0.5)
    assert len(driver.heard) <= asked + concurrency < 20, "nothing more is begun"


def press() -> None:
    signal.raise_signal(signal.SIGINT)


class Pressing:
    """Presses the stop button three times, from the n-th line on that the main thread runs in the module.

    Attributes:
        left: How many lines before that.
        presses: How often it is still to be pressed.
    """

    def __init__(self, number: int) -> None:
        self.left = number
        self.presses = 3

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if frame.f_globals.get("__name__") != run_frame.__module__:
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0 and self.presses:
                self.presses -= 1
                press()
        return self


def pressed_at(number: int) -> tuple[Any, BaseException | None, bool]:
    """Asks for two rows; returns the table, what it was stopped by, and whether it was pressed."""
    frame, pressing, before = pandas.DataFrame({"a": [0, 1]}), Pressing(number), sys.gettrace()
    sys.settrace(pressing)
    try:
        return run_frame(frame, "{{a}}", Saying(), concurrency=1), None, pressing.presses < 3
    except KeyboardInterrupt as stopped:
        return getattr(stopped, "frame", None), stopped, True
    finally:
        sys.settrace(before)


def test_what_has_come_is_there_whenever_and_however_often_it_is_pressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmneutral.frames.HURRY", 0.0)
    pressed_at(10_000)  # all is imported
    kinds: list[type[BaseException] | type[None]] = []
    number, is_pressed = 0, True
    while is_pressed:
        found, stopped, is_pressed = pressed_at(number)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, f"line {number}"
        kinds.append(type(stopped))
        if FrameInterrupt in kinds:
            assert found is not None, f"line {number}: {stopped!r}"
        number += 1
    assert kinds.count(KeyboardInterrupt) == kinds.index(FrameInterrupt), "before it has begun"
    assert kinds.count(FrameInterrupt) > 20
    assert found["answer"].tolist() == ["0", "1"]


def test_an_answer_that_nobody_has_taken_yet_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = threading.Semaphore(0)

    def settled(*_: Any) -> None:
        assert all([heard.acquire(timeout=5) for each in range(2)])
        time.sleep(0.05)
        press()

    def say(text: str) -> str:
        heard.release()
        return text

    monkeypatch.setattr("llmneutral.frames._settled", settled)
    with pytest.raises(FrameInterrupt) as raised:
        run_frame(pandas.DataFrame({"a": [0, 1]}), "{{a}}", Saying(say), concurrency=2)
    assert raised.value.frame["answer"].tolist() == ["0", "1"]


def test_the_second_press_of_one_in_a_hurry_is_the_first_one() -> None:
    """A shell that is pressed while it shows an error forgets the error, and the table with it."""

    def say(text: str) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)
        return text

    with pytest.raises(FrameInterrupt) as raised:
        run_frame(pandas.DataFrame({"a": [0]}), "{{a}}", Saying(say))
    time.sleep(0.05)
    assert raised.value.frame["status"].tolist() == ["interrupted"]


@pytest.mark.parametrize("way", ["other", "ignored", "thread"])
def test_whoever_listens_to_presses_still_does(way: str) -> None:
    heard: list[int] = []

    def say(text: str) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        return text

    found: list[Any] = []

    def work() -> None:
        found.append(run_frame(pandas.DataFrame({"a": [0, 1]}), "{{a}}", Saying(say), concurrency=1))

    other: Any = signal.SIG_IGN if way == "ignored" else lambda number, frame: heard.append(number)
    before = signal.signal(signal.SIGINT, other)
    try:
        if way == "thread":
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        else:
            work()
        assert signal.getsignal(signal.SIGINT) is other or way == "ignored"
    finally:
        signal.signal(signal.SIGINT, before)
    assert found[0]["answer"].tolist() == ["0", "1"]
    assert len(heard) == (0 if way == "ignored" else 2)


@pytest.mark.parametrize("concurrency", [1, 2, 4])
def test_a_late_mistake_is_its_row_s(concurrency: int) -> None:
    """What has come before it is not lost, nor what is on its way."""

    def say(text: str) -> str:
        if text == "Lima":
            raise ConfigurationError("not in this one")
        time.sleep(0.05)
        return text

    found = run_frame(CITIES, "{{city}}", Saying(say), concurrency=concurrency)
    assert found["status"].tolist() == ["complete", "complete", "failed"]
    assert "not in this one" in found["error"].iloc[2]


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_a_mistake_of_all_rows_ends_it_soon(concurrency: int) -> None:
    def say(text: str) -> str:
        raise ConfigurationError("not here")

    driver = Saying(say)
    frame = pandas.DataFrame({"a": [None, *range(40)]}, dtype="object")
    with pytest.raises(ConfigurationError, match="not here"):
        run_frame(frame, "{{a}}", driver, concurrency=concurrency)
    assert concurrency <= len(driver.heard) or concurrency > 40


@pytest.mark.parametrize("wanted", [SystemExit(3), GeneratorExit(), asyncio.CancelledError("off")])
def test_a_driver_that_means_to_exit_fails_in_its_row(wanted: BaseException) -> None:
    def say(text: str) -> str:
        if text == "Rome":
            raise wanted
        return text

    found = run_frame(CITIES, "{{city}}", Saying(say), concurrency=1)
    assert found["status"].tolist() == ["complete", "failed", "complete"]
    assert found["error"].iloc[1] == f"{type(wanted).__name__}: {wanted}"


def test_columns_of_several_levels_stay_so() -> None:
    columns = pandas.MultiIndex.from_tuples([("a", "b"), ("a", "c")], names=["one", "two"])
    found = run_frame(pandas.DataFrame([["x", "y"]], columns=columns), "{{('a', 'c')}}", Saying())
    assert found["a"].columns.tolist() == ["b", "c"]
    assert found["answer"].tolist() == ["y"]
    assert found.columns.names == ["one", "two"]
    assert (found["status"] != "complete").sum() == 0
    with pytest.raises(ConfigurationError, match="the results need: answer"):
        run_frame(found, "{{('a', 'c')}}", Saying())


def test_the_driver_of_defaults() -> None:
    driver = Saying()

    class Config(DriversConfig):
        @property
        def prompt_driver(self) -> Any:
            return driver

    with Config():
        assert run_frame(CITIES, "{{city}}")["answer"].tolist() == ["Oslo", "Rome", "Lima"]
    assert Defaults.base is not None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prompt": "{{town}}"}, r"'town'.*none of this name: city, n, x"),
        ({"prompt": 3}, "the prompt is a text"),
        ({"frame": {"city": ["Oslo"]}}, "run_frame takes a pandas DataFrame, and a dict is none"),
        ({"frame": CITIES.assign(answer=1, total=2)}, "columns that the results need: answer, total"),
        ({"frame": pandas.DataFrame([[1, 2]], columns=["city", "city"])}, "2 of this name"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"concurrency": True}, "concurrency=True"),
        ({"driver": llmneutral.make_driver("chat_completions", model="m", api_key="k"), "temprature": 1}, "temprature"),
        ({"into": 3}, "output schema"),
        ({"driver": "me"}, "driver"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(given: dict[str, Any], said: str) -> None:
    driver = Saying()
    with pytest.raises(ConfigurationError, match=said):
        run_frame(**{"frame": CITIES, "prompt": "{{city}}", "driver": driver, **given})
    assert driver.heard == []


def test_a_missing_key_is_told_once() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        run_frame(CITIES, "{{city}}", llmneutral.make_driver("openai", model="m"))


def test_a_table_of_usage() -> None:
    known = NormalizedResponse(Message("assistant"), model="m", usage=Usage(input_total=3, output_total=4))
    found = usage_frame([known, msgspec.structs.replace(known, model=None, usage=Usage())])
    assert found["input_total"].tolist() == [3, pandas.NA]
    assert found["output_total"].sum() == 4
    assert found["model"].tolist() == ["m", pandas.NA]
    assert len(usage_frame([])) == 0
    with pytest.raises(ConfigurationError, match="a str is none"):
        usage_frame(["m"])


@given(st.one_of(st.integers(), st.floats(), st.just("many")))
def test_any_count_of_a_provider_has_a_place(count: Any) -> None:
    found = usage_frame([NormalizedResponse(Message("assistant"), usage=Usage(output_total=count))])["output_total"]
    fits = isinstance(count, int) and 0 <= count < 2**63
    assert found.tolist() == ([count] if fits else [pandas.NA])


def test_pandas_is_loaded_when_it_is_needed() -> None:
    code = "import llmneutral, sys; llmneutral.run_frame; llmneutral.usage_frame; print('pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
