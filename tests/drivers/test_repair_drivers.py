"""Repairs of every kind of driver: in Griptape's style, fallbacks, recordings, codex, the official SDKs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmneutral import (
    ActionCallMessageContent,
    BasePromptDriver,
    DeltaMessage,
    FallbackDriver,
    Message,
    PromptStack,
    StructuredOutputError,
    TextDeltaMessageContent,
    TextMessageContent,
)
from llmneutral.drivers.recordings import save_recording
from llmneutral.drivers.replay import ReplayPromptDriver
from llmneutral.structured import ANSWER_TOOL
from tests.drivers import endpoints, sdk_endpoints
from tests.drivers.cities import BAD, FACTS, GOOD, ROME, STRATEGIES, City, asked, deltas_of, driver, form, script
from tests.drivers.codex_script import Scene
from tests.drivers.codex_script import answer as turn_of
from tests.drivers.endpoints import WAYS, check_deltas
from tests.drivers.scripted import Scripted, busy, chunks, whole
from tests.loopback import Answer, Loopback, Request, streamed
from tests.loopback import whole as body_answer
from tests.payloads import turn

# --- in Griptape's style, fallbacks ---------------------------------------------------------------


class Own(BasePromptDriver):
    """Makes its own requests, in Griptape's style."""

    needs_key = False

    def __init__(self, *texts: str, **options: Any) -> None:
        super().__init__("own", api_mode="chat_completions", **options)
        self.texts = list(texts)
        self.stacks: list[PromptStack] = []

    def try_run(self, prompt_stack: PromptStack) -> Message:
        self.stacks.append(prompt_stack)
        return Message("assistant", (TextMessageContent(self.texts.pop(0)),))

    def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
        self.stacks.append(prompt_stack)
        for letter in self.texts.pop(0):
            yield DeltaMessage("text", TextDeltaMessageContent(letter))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strategy", ["native", "rule"])
def test_a_driver_in_griptapes_style_is_asked_again(way: str, strategy: str) -> None:
    made = Own(json.dumps(BAD), json.dumps(GOOD))
    stack = PromptStack([turn("user", "Which city?")], output_schema=City)
    before = stack.to_json()
    response = asked(way, made, source=stack, structured_output_strategy=strategy)  # type: ignore[arg-type]
    assert response.parsed == ROME
    first, second = made.stacks
    assert (first.output_schema is City) is (strategy == "native")
    assert (first.messages[0].role == "system") is (strategy == "rule")
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.role for message in second.messages[len(first.messages) :]] == ["assistant", "user"]
    assert stack.to_json() == before


def test_what_such_a_driver_does_to_its_stack_is_not_asked_again() -> None:
    class Noting(Own):
        def try_run(self, prompt_stack: PromptStack) -> Message:
            message = super().try_run(prompt_stack)
            self.stacks[-1] = PromptStack(prompt_stack.messages)
            prompt_stack.messages.append(turn("user", "a note of its own"))
            return message

    made = Noting(json.dumps(BAD), json.dumps(GOOD))
    assert asked("run", made).parsed == ROME  # type: ignore[arg-type]
    assert [message.to_text() for message in made.stacks[1].messages][:2] == ["Which city?", json.dumps(BAD)]


def test_such_a_driver_may_be_given_the_answers_tool() -> None:
    class Calling(Own):
        def try_run(self, prompt_stack: PromptStack) -> Message:
            self.stacks.append(prompt_stack)
            given = json.loads(self.texts.pop(0))
            return Message("assistant", (ActionCallMessageContent(f"c{len(self.stacks)}", ANSWER_TOOL, None, given),))

    made = Calling(json.dumps(BAD), json.dumps(GOOD))
    assert asked("run", made, structured_output_strategy="tool").parsed == ROME  # type: ignore[arg-type]
    first, second = made.stacks
    assert [tool.name for tool in first.tools] == [tool.name for tool in second.tools] == [ANSWER_TOOL]
    assert first.settings["tool_choice"].names == (ANSWER_TOOL,)
    [result] = second.messages[-1].content
    assert (result.tag, result.is_error) == ("c1", True)  # type: ignore[union-attr]


def test_a_driver_in_griptapes_style_may_still_go_by_the_library() -> None:
    class Passing(Scripted):
        def try_run(self, prompt_stack: PromptStack) -> Message:
            return super().try_run(prompt_stack)

    for strategy in STRATEGIES:
        made = Passing(*script(form(strategy, BAD), form(strategy, GOOD, 2), stream=False), facts=FACTS)
        assert asked("run", made, structured_output_strategy=strategy).parsed == ROME
        assert json.dumps(made.sent[0]).count("JSON Schema") == (strategy == "rule")
        assert [tool["function"]["name"] for tool in made.sent[1].get("tools", ())] == [ANSWER_TOOL] * (
            strategy == "tool"
        )


@pytest.mark.parametrize("way", WAYS)
def test_a_fallback_asks_the_driver_again_that_answered(way: str) -> None:
    stream = "stream" in way
    broken = Scripted(*[busy()] * 3, facts=FACTS)
    answering = driver(form("native", BAD), form("native", GOOD), stream=stream)
    response = WAYS[way](FallbackDriver([broken, answering]), "Which city?", output_schema=City)
    assert response.parsed == ROME
    assert (len(broken.sent), len(answering.sent)) == (3, 2)
    failing = driver(form("native", BAD), [("text", "")], stream=stream)
    with pytest.raises(StructuredOutputError):
        WAYS[way](FallbackDriver([failing, answering]), "Which city?", output_schema=City)


def test_a_fallback_gives_the_deltas_of_an_answer_without_content() -> None:
    deltas, _, error = deltas_of(FallbackDriver([driver([("text", "")], stream=True, max_repairs=0), Scripted()]))
    check_deltas(deltas)
    assert isinstance(error, StructuredOutputError)


# --- tools as text ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_an_answers_tool_that_stands_as_text(way: str) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}

    def said(value: Any) -> list[tuple[str, str]]:
        call = {"tag": "a1", "name": ANSWER_TOOL, "input": value}
        return [("text", f"Thought: done\nActions: {json.dumps([call])}\n")]

    made = driver(said(BAD), said(GOOD), stream="stream" in way)
    response = asked(way, made, tools=[tool], use_native_tools=False)
    assert response.parsed == ROME
    assert all("tools" not in body for body in made.sent)
    last = made.sent[1]["messages"][-1]
    assert last["role"] == "user"
    assert "The arguments do not match the schema:" in json.dumps(last)


@pytest.mark.parametrize("way", WAYS)
def test_actions_that_cannot_be_read_are_asked_for_again(way: str) -> None:
    """Without tools of the caller's they can only have been the answer."""

    def said(actions: str) -> list[tuple[str, str]]:
        return [("text", f"Thought: done\nActions: {actions}\n")]

    good = json.dumps([{"tag": "a1", "name": ANSWER_TOOL, "input": GOOD}])
    options: dict[str, Any] = {"use_native_tools": False, "structured_output_strategy": "tool"}
    made = driver(said(good[:-9]), said(good), stream="stream" in way)
    assert asked(way, made, **options).parsed == ROME
    assert "Actions is not valid JSON" in json.dumps(made.sent[1]["messages"][-1])
    made = driver(said(good[:-9]), said("soon"), stream="stream" in way)
    with pytest.raises(StructuredOutputError, match="Actions is not valid JSON") as caught:
        asked(way, made, **options)
    assert [each["text"] for each in caught.value.attempts] == [good[:-9], "soon"]


# --- recordings, codex ------------------------------------------------------------------------------


def recorded(file: Path, *answers: tuple[dict[str, Any], bool]) -> Path:
    for value, is_stream in answers:
        said = form("native", value)
        record = [(0.1, chunk) for chunk in chunks(said)] if is_stream else [(0.1, whole(said))]
        save_recording(file, record, api="chat_completions", model="m", append=True)
        if not is_stream:
            lines = file.read_text().splitlines()
            lines[-1] = lines[-1].replace('"chunk": ', '"body": ', 1)
            file.write_text("\n".join([*lines, ""]))
    return file


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("streams", [(True, True), (False, False), (True, False), (False, True)])
def test_a_recorded_repair_is_played(tmp_path: Path, way: str, streams: tuple[bool, bool]) -> None:
    file = recorded(tmp_path / "a.jsonl", (BAD, streams[0]), (GOOD, streams[1]))
    response = WAYS[way](ReplayPromptDriver(file, facts=FACTS), "Which city?", output_schema=City)
    assert response.parsed == ROME
    assert response.metadata is not None
    assert response.metadata.repairs == 1


@pytest.mark.parametrize("way", WAYS)
def test_codex_is_asked_again_in_the_same_thread(tmp_path: Path, way: str) -> None:
    scene = Scene(tmp_path)
    try:
        made = scene.driver(turn_of(json.dumps(BAD)), turn_of(json.dumps(GOOD)))
        assert WAYS[way](made, "Which city?", output_schema=City).parsed == ROME
        turns = scene.asked("turn/start")
        assert [each["threadId"] for each in turns] == ["thread1", "thread1"]
        assert turns[0]["outputSchema"] == turns[1]["outputSchema"]
        [said] = turns[1]["input"]
        assert said["text"].startswith("The answer does not match the schema:\nsize: expected integer")
    finally:
        scene.close()


# --- the official SDKs ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sdk_endpoints.without_aws(monkeypatch, tmp_path)


def answering(api: str, strategy: str) -> Any:
    """Answers the first request wrongly, the next one well."""
    seen: list[Any] = []

    def answer(request: Request) -> Answer:
        seen.append(request.json)
        said = form(strategy, BAD if len(seen) == 1 else GOOD, len(seen))
        if api in endpoints.APIS:
            if request.json.get("stream"):
                return streamed(endpoints.chunks_of(api, said))
            return body_answer(endpoints.body_of(api, said))
        if sdk_endpoints.wants_stream(request):
            return sdk_endpoints.stream_of(api, sdk_endpoints.chunks_of(api, said))
        return sdk_endpoints.body_answer(api, sdk_endpoints.body_of(api, said))

    return answer, seen


@pytest.mark.parametrize("api", [*endpoints.APIS, *sdk_endpoints.APIS])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_repair_over_the_wire(api: str, strategy: str) -> None:
    make = endpoints.driver_for if api in endpoints.APIS else sdk_endpoints.sdk_driver
    sent = []
    for way, ask in WAYS.items():
        answer, seen = answering(api, strategy)
        with Loopback(answer) as server, make(api, server, facts=FACTS) as made:
            response = ask(made, "Which city?", output_schema=City, structured_output_strategy=strategy)
        assert (way, response.parsed) == (way, ROME)
        assert response.metadata is not None
        assert (response.metadata.repairs, response.metadata.attempts) == (1, 2)
        for body in seen:
            body.pop("stream", None)
            body.pop("stream_options", None)
        sent.append(seen)
    assert len(sent[0]) == 2
    assert all(each == sent[0] for each in sent)
