"""A transport is a value: its four methods, and what it makes of a request."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import llmneutral
from llmneutral import (
    ActionResultMessageContent,
    ConversionError,
    DocumentMessageContent,
    Message,
    Target,
    TextMessageContent,
    profile,
)
from llmneutral.convert.job import Job, Messages, Pass
from llmneutral.convert.trace import Trace
from llmneutral.convert.transport import Transport, into_extra_body, plain_wire, written_tools
from llmneutral.ir.tools import ToolDefinition
from llmneutral.transports import get_transport, registered
from tests.convert.jobs import job
from tests.laws.answers import WIRE
from tests.payloads import APIS, MODELS, made, turn

over_apis = pytest.mark.parametrize("api", APIS)
over_all = pytest.mark.parametrize("api", registered())
LOOK = {"type": "function", "function": {"name": "files.look", "parameters": {"type": "object", "properties": {}}}}
TALK = [{"role": "system", "content": "be"}, {"role": "user", "content": "q"}]


# --- the four methods ---------------------------------------------------------------------------


@over_apis
def test_the_keyword_arguments_of_the_call(api: str) -> None:
    transport = get_transport(api)
    found = transport.build_kwargs(MODELS[api], TALK, [LOOK], max_tokens=100, temperature=0)
    assert found == made(api, TALK, tools=[LOOK], max_tokens=100, temperature=0).payload
    assert transport.build_kwargs(None, TALK)


@over_all
def test_the_messages_alone(api: str) -> None:
    found = get_transport(api).convert_messages(TALK)
    assert "q" in str(found)
    assert "be" in str(found)
    assert not {"model", "max_tokens", "tools", "store"} & found.keys()


@over_all
def test_the_tools_alone(api: str) -> None:
    found = get_transport(api).convert_tools([LOOK])
    assert len(found) == 1
    assert "look" in str(found[0])


@over_apis
def test_a_whole_answer(api: str) -> None:
    whole, stream = WIRE[api]
    answer = [("text", "Hello")]
    transport = get_transport(api)
    assert transport.normalize_response(whole(answer)).text == "Hello"
    reader = transport.stream()
    for chunk in stream(answer, 2):
        reader.feed(chunk)
    reader.close()
    assert reader.response.text == "Hello"


@over_all
def test_every_transport_is_complete(api: str) -> None:
    transport = get_transport(api)
    assert transport.api_mode == api
    assert transport.doc.startswith("https://")
    assert all(step.name for step in transport.passes)
    assert set(llmneutral.get_transport("chat_completions").blocks) == set(transport.blocks)
    method, path = transport.endpoint(Target(api, profile(api), model="m"))
    assert (method, path[0]) == ("POST", "/")


# --- passes -------------------------------------------------------------------------------------


def with_passes(*steps: Pass) -> Transport:
    return msgspec.structs.replace(get_transport("chat_completions"), passes=steps)


def test_a_pass_runs_where_its_kind_occurs_also_if_another_pass_made_it() -> None:
    ran = []

    def rewrite(messages: Messages, job: Job) -> Messages:
        ran.append("rewrite")
        return [Message("user", (DocumentMessageContent(text="x"),))]

    def look(messages: Messages, job: Job) -> Messages:
        ran.append("look")
        return [Message("user", (TextMessageContent("y"),))]

    documents = frozenset({DocumentMessageContent})
    steps = (Pass("look", look, documents), Pass("rewrite", rewrite), Pass("look", look, documents))
    made_of = with_passes(*steps).convert([turn("user", "q")], Target("chat_completions", profile("chat_completions")))
    assert ran == ["rewrite", "look"]
    assert made_of.payload["messages"] == [{"role": "user", "content": "y"}]


def test_the_blocks_of_an_orphan_are_rewritten_like_all_others() -> None:
    inner = DocumentMessageContent(parts=(TextMessageContent("a"), TextMessageContent("b")))
    stack = [turn("user", "q"), turn("assistant", "t"), turn("user", ActionResultMessageContent("z", parts=(inner,)))]
    for api in APIS:
        assert '"a' in str(made(api, stack).to_json()).replace("'", '"') or api == "chat_completions"


def test_steps_are_named_in_the_report() -> None:
    def tell(messages: Messages, job: Job) -> Messages:
        job.note("dropped", "something", *messages[0].content)
        return messages

    target = Target("chat_completions", profile("chat_completions"))
    first = (Pass("before", tell),)
    found = with_passes(Pass("own", tell)).convert([turn("user", "q")], target, first=first)
    assert [change.step for change in found.changes] == ["before", "own"]


def test_roles_are_checked_before_any_pass() -> None:
    def never(messages: Messages, job: Job) -> Messages:
        raise AssertionError("it should not have come so far")

    target = Target("chat_completions", profile("chat_completions"))
    with pytest.raises(ConversionError, match=r"messages\[0\] has the role 'robot'"):
        with_passes(Pass("never", never)).convert([Message("robot", ())], target)


# --- the body -----------------------------------------------------------------------------------


def test_the_wire_has_the_callers_own_keys_merged_in_last() -> None:
    payload: dict[str, Any] = {"a": 1, "b": 2}
    assert plain_wire(payload, None) is payload
    into_extra_body(payload, {"b": 3, "c": 4})
    into_extra_body(payload, {"d": 5})
    assert payload == {"a": 1, "b": 2, "extra_body": {"b": 3, "c": 4, "d": 5}}
    assert plain_wire(payload, None) == {"a": 1, "b": 3, "c": 4, "d": 5}
    assert payload["extra_body"] == {"b": 3, "c": 4, "d": 5}


def test_marks_follow_the_keys_that_stay() -> None:
    payload = {"system": "be", "kept": "x", "extra_body": {"kept": "y"}}
    trace = Trace()
    trace.mark(payload, ((0, 0),), "system")  # type: ignore[arg-type]  # a Ref is a pair
    trace.mark(payload, ((1, 0),), "kept")  # type: ignore[arg-type]
    assert trace.pointers(plain_wire(payload, trace)) == {"/system": ((0, 0),)}


def test_tools_are_written_by_their_native_names() -> None:
    made_job = job(tools=[ToolDefinition("look", parameters={"type": "object", "properties": {}})])
    made_job.names.add(("look", None), "other")
    made_job.note.step = "step"
    assert [tool["name"] for tool in written_tools(made_job)] == ["other"]
    assert made_job.note.step == "step"


@over_apis
def test_a_conversion_shows_counts_and_no_contents(api: str) -> None:
    found = made(api, "a secret", temperature=9)
    assert repr(found) == f"Conversion({api}, 1 change, {' '.join(found.endpoint)})"
