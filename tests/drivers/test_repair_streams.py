"""What a stream gives, and what is published, where an answer is asked for again."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Annotated, Any

import pydantic
import pytest

from llmneutral import (
    BaseEvent,
    BasePromptDriver,
    ConversionError,
    FinishPromptEvent,
    ParsedPartialEvent,
    PromptStack,
    RepairTurnEvent,
    StructuredOutputError,
)
from llmneutral.structured import PartialAnswer
from tests.drivers.cities import (
    APIS,
    BAD,
    FACTS,
    GOOD,
    PROBLEM,
    ROME,
    STRATEGIES,
    City,
    asked,
    deltas_of,
    driver,
    form,
    script,
)
from tests.drivers.endpoints import check_deltas
from tests.drivers.scripted import Scripted, chunks, kinds

# --- what a stream gives --------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_tells_the_rejected_answer_apart(api: str, strategy: str) -> None:
    made = driver(form(strategy, BAD), form(strategy, GOOD, 2), stream=True, api=api)
    deltas, stream, error = deltas_of(made, structured_output_strategy=strategy)
    assert error is None
    check_deltas(deltas)
    (at,) = [place for place, delta in enumerate(deltas) if delta.kind == "repair"]
    assert deltas[at].details == {"number": 1, "problems": [PROBLEM]}
    piece = "partial_input" if strategy == "tool" else "text"
    joined = [
        "".join([getattr(delta.content, piece, "") for delta in part if delta.content is not None])
        for part in (deltas[:at], deltas[at:])
    ]
    assert [json.loads(each) for each in joined] == [BAD, GOOD]
    indices = [
        {delta.content.index for delta in part if delta.content is not None} for part in (deltas[:at], deltas[at:])
    ]
    assert indices[0].isdisjoint(indices[1])
    assert min(indices[1]) == max(indices[0]) + 1
    assert stream.response.parsed == ROME
    assert [delta.usage.total for delta in deltas if delta.usage][-1] == 24
    assert made.closed == 2


def test_a_stream_whose_last_answer_does_not_fit_raises_after_its_end() -> None:
    made = driver(form("native", BAD), form("native", BAD), stream=True)
    deltas, stream, error = deltas_of(made)
    check_deltas(deltas)
    assert deltas[-1].complete
    assert isinstance(error, StructuredOutputError)
    assert stream.response is error.response
    assert stream.response.parsed is None
    assert any("no valid value" in note for note in stream.response.notes)


def test_a_stream_in_progress_shows_the_answer_in_progress() -> None:
    stream = driver(form("native", BAD), form("native", GOOD), stream=True).stream("Which city?", output_schema=City)
    for delta in stream:
        if delta.kind == "repair":
            assert (stream.response.text, stream.response.usage.total) == ("", 12)
            assert stream.metadata.repairs == 1
            break
    next(stream)
    stream.close()
    assert not stream.response.complete
    assert stream.response.metadata is not None
    assert stream.response.metadata.repairs == 1


def test_an_abandoned_stream_closes_the_connection_of_its_repair() -> None:
    made = driver(form("native", BAD), form("native", GOOD), stream=True)
    with made.stream("Which city?", output_schema=City) as stream:
        for delta in stream:
            if delta.kind == "repair":
                break
        next(stream)
    assert made.closed == 2
    assert list(stream) == []


def test_the_record_is_that_of_the_last_call() -> None:
    made = driver(form("native", BAD), form("native", GOOD), stream=True)
    stream = made.stream("Which city?", output_schema=City, record=True)
    list(stream)
    assert stream.record is not None
    assert [chunk for _, chunk, _ in stream.record] == chunks(form("native", GOOD))


# --- events ---------------------------------------------------------------------------------------


def events_of(made: BasePromptDriver) -> list[Any]:
    events: list[Any] = []
    made.on(BaseEvent, events.append)
    return events


def test_a_repair_is_published_between_two_calls_of_one_run() -> None:
    made = driver(form("native", BAD), form("native", GOOD))
    events = events_of(made)
    asked("run", made)
    assert [kind for kind in kinds(events) if kind != "ConversionChangedEvent"] == [
        "StartPromptEvent", "FinishPromptEvent", "RepairTurnEvent", "StartPromptEvent", "FinishPromptEvent",
    ]  # fmt: skip
    repair = next(event for event in events if isinstance(event, RepairTurnEvent))
    assert (repair.problems, repair.number) == ((PROBLEM,), 1)
    assert len({event.run_id for event in events}) == 1
    usages = [event.response.usage.total for event in events if isinstance(event, FinishPromptEvent)]
    assert usages == [12, 12]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("way", ["stream", "astream", "run"])
def test_partial_values_are_published_while_they_come(strategy: str, way: str) -> None:
    answers = script(form(strategy, BAD), form(strategy, GOOD, 2), stream=True)
    made = Scripted(*answers, facts=FACTS, stream=way == "run")
    values: list[Any] = []
    made.on(ParsedPartialEvent, lambda event: values.append(event.value))
    made.on(RepairTurnEvent, values.append)
    asked(way, made, structured_output_strategy=strategy)
    at = next(place for place, value in enumerate(values) if isinstance(value, RepairTurnEvent))
    assert values[at - 1] == BAD
    assert values[-1] == GOOD
    assert {"name": "Ro"} in values
    assert all(one != two for one, two in pairwise(values))


def test_nothing_is_read_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    value: Any = PartialAnswer.value.fget  # type: ignore[attr-defined]

    def noted(partial: PartialAnswer) -> Any:
        read.append(1)
        return value(partial)

    monkeypatch.setattr(PartialAnswer, "value", property(noted))
    asked("stream", driver(form("native", GOOD), stream=True))
    assert read == []
    stream = driver(form("native", GOOD), stream=True).stream("Which city?", output_schema=City)
    assert [stream.parsed_partial for _ in stream][-1] == GOOD
    assert stream.parsed_partial == GOOD


def test_a_long_answer_is_published_in_parts_of_itself() -> None:
    long = {"name": "x" * 40_000, "size": 3}
    made = Scripted(chunks(form("native", long), 5), facts=FACTS)
    values: list[Any] = []
    made.on(ParsedPartialEvent, lambda event: values.append(event.value))
    asked("stream", made)
    assert values[-1] == long
    assert len(values) < 1_000


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_parsed_partial_begins_anew_with_a_repair(strategy: str) -> None:
    made = driver(form(strategy, BAD), form(strategy, GOOD, 2), stream=True)
    stream = made.stream("Which city?", output_schema=City, structured_output_strategy=strategy)
    assert stream.parsed_partial is None
    values: list[tuple[str, Any]] = [(delta.kind, stream.parsed_partial) for delta in stream]
    at = [kind for kind, _ in values].index("repair")
    assert (values[at - 1][1], values[at][1], values[-1][1]) == (BAD, None, GOOD)


def test_a_value_that_cannot_be_checked_loses_no_text() -> None:
    """It is no matter of the answer: the call raises it, and nobody is asked again."""
    elsewhere = pydantic.WithJsonSchema({"$ref": "https://elsewhere.example/a"})
    schema = pydantic.create_model("Elsewhere", a=(Annotated[str, elsewhere], ...))
    made = Scripted(chunks([("text", '{"a": 1}')]))
    stack = PromptStack.from_artifact("Hi")
    stack.output_schema = schema
    stream = made.stream(stack)
    with pytest.raises(ConversionError, match="elsewhere"):
        list(stream)
    assert (stream.response.text, stream.response.parsed, len(made.sent)) == ('{"a": 1}', None, 1)
    assert "cannot be checked" in stream.response.notes[-1]
