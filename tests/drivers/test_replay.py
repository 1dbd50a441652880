"""A driver that plays recordings: the same interface, no key, no network."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from llmneutral import ConfigurationError, StreamInterruptedError, drivers_config
from llmneutral.drivers.recordings import save_recording
from llmneutral.drivers.replay import ReplayPromptDriver
from tests.drivers.endpoints import APIS, CALLS, WAYS, Asking, body_of, chunks_of, driver_for
from tests.loopback import Loopback, talk

apis = pytest.mark.parametrize("api", APIS)
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS.keys())


def recorded(file: Path, api: str, *answers: str) -> Path:
    for text in answers:
        pieces = [(0.5 * place, chunk) for place, chunk in enumerate(chunks_of(api, [("text", text)], 2))]
        save_recording(file, pieces, api=api, model="m-1", append=True)
    return file


@apis
@ways
def test_it_answers_as_the_provider_did(tmp_path: Path, api: str, ask: Asking) -> None:
    driver = ReplayPromptDriver(recorded(tmp_path / "a.jsonl", api, "one", "two"))
    assert (driver.api_mode, driver.model) == (api, "m-1")
    assert [ask(driver, "hi").text for _ in range(3)] == ["one", "two", "one"]
    assert driver.preview("hi").payload["model"]


@apis
def test_what_was_recorded_is_what_is_played(tmp_path: Path, api: str) -> None:
    file = tmp_path / "a.jsonl"
    with Loopback(talk(*CALLS)) as server, driver_for(api, server) as driver:
        stream = driver.stream("hi", record=True)
        deltas = list(stream)
    assert stream.record is not None
    save_recording(file, stream.record, api=api, model="m")
    again = ReplayPromptDriver(file).stream("hi")
    assert list(again) == deltas
    told, played = stream.response.to_dict(), again.response.to_dict()
    assert (told.pop("blocks") is None) == (played.pop("blocks") is None)  # another host stands in their origin
    assert played == told


@apis
@ways
def test_a_whole_answer_is_played_too(tmp_path: Path, api: str, ask: Asking) -> None:
    file = tmp_path / "a.jsonl"
    lines = [{"llmneutral_recording": 1, "api": api}, {"t": 0.5, "body": body_of(api, [("text", "whole")])}]
    file.write_text("".join([json.dumps(line) + "\n" for line in lines]), encoding="utf-8")
    assert ask(ReplayPromptDriver(file), "hi").text == "whole"


def test_the_pace_may_be_kept(tmp_path: Path) -> None:
    file = recorded(tmp_path / "a.jsonl", "chat_completions", "abcd")
    driver = ReplayPromptDriver(file, speed=2.0)
    waited: list[float] = []

    async def asleep(seconds: float) -> None:
        waited.append(seconds)

    driver.sleep, driver.asleep = waited.append, asleep
    driver.run("hi")
    assert waited == [0.25] * 5
    asyncio.run(driver.arun("hi"))
    assert waited == [0.25] * 10
    ReplayPromptDriver(file).run("hi")
    with pytest.raises(ConfigurationError, match="speed"):
        ReplayPromptDriver(file, speed=0)


@ways
def test_a_recording_without_its_end_is_not_asked_for_again(tmp_path: Path, ask: Asking) -> None:
    file = tmp_path / "a.jsonl"
    save_recording(file, [(0.0, chunks_of("chat_completions", [("text", "one")], 2)[0])], api="chat_completions")
    driver = ReplayPromptDriver(file)
    waited: list[float] = []

    async def asleep(seconds: float) -> None:
        waited.append(seconds)

    driver.sleep, driver.asleep = waited.append, asleep
    with pytest.raises(StreamInterruptedError):
        ask(driver, "hi")
    assert waited == []
    assert ReplayPromptDriver(file, max_attempts=2).options.max_attempts == 2


def test_a_file_of_several_apis_is_refused(tmp_path: Path) -> None:
    file = recorded(tmp_path / "a.jsonl", "chat_completions", "one")
    recorded(file, "anthropic_messages", "two")
    with pytest.raises(ConfigurationError, match="several APIs: anthropic_messages, chat_completions"):
        ReplayPromptDriver(file)


def test_it_has_a_config_and_a_name(tmp_path: Path) -> None:
    file = recorded(tmp_path / "a.jsonl", "anthropic_messages", "one")
    config = drivers_config(f"replay:{file}")
    assert (config.api_mode, config.model, config.name) == ("anthropic_messages", "m-1", "replay")
    assert config.status().ready
    assert config.prompt_driver.run("hi").text == "one"
    assert "replay:FILE" in (drivers_config("replay").status().problem or "")
    assert "absent" in (drivers_config("replay:absent.jsonl").status().problem or "")
    with pytest.raises(ConfigurationError, match="replay:FILE"):
        _ = drivers_config("replay").prompt_driver
