"""The options of a call: checked before anything happens, of the driver or of the call."""

from __future__ import annotations

from typing import Any

import pytest

from llmneutral import ConfigurationError
from llmneutral.drivers.options import CallOptions
from tests.drivers.scripted import Scripted, busy, chunks, whole

WRONG = [
    ("max_attempts", 0),
    ("max_attempts", True),
    ("max_attempts", 2.0),
    ("retry_deadline", -1),
    ("retry_deadline", "60"),
    ("timeout", 0),
    ("timeout", float("nan")),
    ("on_error", "ignore"),
    ("raise_on", {"refused"}),
    ("meta", "a"),
    ("run_id", 7),
    ("record", 1),
    ("redact", "all"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_option_is_named(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"the option {name} is "):
        Scripted(**{name: value})
    driver = Scripted(whole())
    with pytest.raises(ConfigurationError, match=f"the option {name} is "):
        driver.run("hi", **{name: value})
    assert driver.sent == []


def test_options_are_taken_out_of_the_settings() -> None:
    options, rest = CallOptions().taken({"max_attempts": 5, "temperature": 0.5, "raise_on": "refusal"})
    assert (options.max_attempts, options.raise_on) == (5, frozenset({"refusal"}))
    assert rest == {"temperature": 0.5}
    assert CallOptions().taken({"timeout": None})[0].timeout is None


def test_the_call_wins_over_the_driver() -> None:
    driver = Scripted(busy(), busy(), busy(), max_attempts=2, on_error="return")
    assert driver.run("hi").error is not None
    assert len(driver.sent) == 2
    driver.run("hi", max_attempts=1)
    assert len(driver.sent) == 3


def test_no_option_reaches_a_payload() -> None:
    driver = Scripted(whole())
    driver.run("hi", timeout=5, meta={}, record=True, raise_on=(), run_id="r", on_error="raise", max_attempts=1)
    assert set(driver.sent[0]) == {"model", "messages"}
    assert driver.preview("hi", max_attempts=1).payload == driver.sent[0]


def test_a_preview_is_what_is_sent_streamed_or_not() -> None:
    for driver, overrides in ((Scripted(whole()), {}), (Scripted(chunks(), stream=True), {"temperature": 0.5})):
        driver.run("hi", **overrides)
        assert driver.preview("hi", **overrides).payload == driver.sent[0]


def test_an_unknown_setting_is_told_before_anything_is_sent() -> None:
    driver = Scripted(whole())
    with pytest.raises(ConfigurationError, match=r"unknown setting 'temprature'.*temperature"):
        driver.run("hi", temprature=1)
    assert driver.sent == []
