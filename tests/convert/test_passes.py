"""Rewrites of the messages that several APIs need: what each does and says, and nothing where nothing is to be done."""

from __future__ import annotations

import json
from itertools import dropwhile
from typing import Any

import pytest
from hypothesis import given, settings

from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    ConversionError,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    Message,
    Origin,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.convert import passes
from llmneutral.convert.job import Pass
from llmneutral.convert.passes import (
    CONTINUE,
    EMPTY_ANSWER,
    EMPTY_MESSAGE,
    LEADING_USER,
    drop_blank_text,
    drop_generic_of_others,
    fill_empty,
    hoist_system,
    keep_screenshots,
    last_turn,
    lead_with_user,
    lift_system,
    merge_same_role,
    merge_system,
    move_media,
    replay_reasoning,
    same_origin,
)
from tests.convert.jobs import job, run, told
from tests.laws.stacks import PDF, PNG, stacks
from tests.payloads import APIS, MODEL_OF, MODELS, events, kinds, made, said, turn
from tests.payloads import told as changes_of

over_apis = pytest.mark.parametrize("api", APIS)
Text, Thinking, Image = TextMessageContent, ThinkingMessageContent, ImageMessageContent
CALL, RESULT = ActionCallMessageContent("a", "look"), ActionResultMessageContent("a", "ok")
SHARED = (
    drop_blank_text, fill_empty, hoist_system, keep_screenshots, last_turn, lead_with_user, lift_system,
    merge_same_role, merge_system, move_media("move_media", (Image,), (Image,)),
    replay_reasoning(lambda block, message, job: None), drop_generic_of_others("anthropic_messages"),
)  # fmt: skip


def shown(messages: list[Message]) -> list[tuple[str, list[str]]]:
    """Roles and texts."""
    return [(message.role, [block.to_text() for block in message.content]) for message in messages]


# --- every pass ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step", SHARED, ids=lambda step: step.name)
def test_nothing_to_do_is_the_same_list(step: Pass) -> None:
    stack = [turn("system", "s"), turn("user", "q"), turn("assistant", "a"), turn("user", "b")]
    made_job = job(stack)
    assert step.run(made_job.messages, made_job) is made_job.messages
    assert told(made_job) == []


@pytest.mark.parametrize("step", SHARED, ids=lambda step: step.name)
@settings(max_examples=40)
@given(stack=stacks)
def test_what_a_pass_does_once_it_does_not_do_again(step: Pass, stack: list[Message]) -> None:
    facts = {"prefill": False, "system_first_only": True}
    once, _ = run(step, stack, facts=facts)
    if step is last_turn and any(not m.content for m in stack):
        return  # an empty answer at the end is dropped, which brings another turn to the end
    twice, made_job = run(step, once, facts=facts)
    assert twice == once
    assert told(made_job) == []


@pytest.mark.parametrize("step", SHARED, ids=lambda step: step.name)
@settings(max_examples=40)
@given(stack=stacks)
def test_a_pass_loses_no_block_in_silence(step: Pass, stack: list[Message]) -> None:
    found, made_job = run(step, stack, facts={"prefill": None, "system_first_only": True})
    named = {tuple(ref) for change in made_job.note.changes for ref in change.refs}
    kept = {tuple(ref) for message in found for block in message.content for ref in made_job.refs_of(block)}
    addresses = {(i, j) for i, message in enumerate(stack) for j, _ in enumerate(message.content)}
    assert addresses <= named | kept


# --- instructions -------------------------------------------------------------------------------


@over_apis
def test_leading_instructions(api: str) -> None:
    found = events(api, [turn("system", "be"), turn("system", "brief"), turn("user", "q")])
    assert "\n\n".join(event[2] for event in found if event[0] == "system") == "be\n\nbrief"
    assert made(api, [turn("system", "be"), turn("system", "brief"), turn("user", "q")]).changes == ()


@over_apis
def test_the_role_developer_instructs_too(api: str) -> None:
    found = made(api, [turn("developer", "be"), turn("user", "q")])
    assert said(api, found.to_json())[0] == ("system", "text", "be")
    assert kinds(found) == (["renamed"] if api == "chat_completions" else [])


@over_apis
def test_late_instructions_stay_in_place(api: str) -> None:
    stack = [turn("system", "be"), turn("user", "x"), turn("assistant", "y"), turn("system", "now"), turn("user", "z")]
    found = made(api, stack)
    late = said(api, found.to_json())[3]
    if api == "anthropic_messages":
        assert late == ("user", "text", "<system>\nnow\n</system>")
        assert changes_of(found, "rewritten")[0].refs == ((3, 0),)
    else:
        assert late == ("system", "text", "now")
        assert found.changes == ()


def test_where_the_model_knows_the_role_in_mid_conversation_it_stays() -> None:
    facts = {"mid_conversation_system": True}
    after_user = [turn("user", "x"), turn("system", "now"), turn("assistant", "y")]
    assert run(lift_system, after_user, facts=facts)[0] == after_user
    after_answer = [turn("user", "x"), turn("assistant", "y"), turn("system", "now"), turn("user", "z")]
    moved, job = run(lift_system, after_answer, facts=facts)
    assert shown(moved)[2] == ("user", ["<system>\nnow\n</system>"])
    assert "only directly after a user's turn" in job.note.changes[0].why
    assert "cannot stand in mid-conversation" in run(lift_system, after_answer)[1].note.changes[0].why


@over_apis
def test_late_instructions_are_hoisted_where_the_caller_wants_it(api: str) -> None:
    stack = [turn("system", "be"), turn("user", "x"), turn("assistant", "y"), turn("system", "now"), turn("user", "z")]
    found = made(api, stack, late_system="hoist")
    said_now = said(api, found.to_json())
    assert "\n\n".join(event[2] for event in said_now if event[0] == "system") == "be\n\nnow"
    assert [event[0] for event in said_now if event[0] != "system"] == ["user", "assistant", "user"]
    assert [(change.kind, change.refs) for change in found.changes] == [("moved", ((3, 0),))]


@pytest.mark.parametrize("api", MODEL_OF)
def test_no_api_keeps_late_instructions_in_place_where_they_are_to_be_hoisted(api: str) -> None:
    stack = [turn("system", "be"), turn("user", "x"), turn("assistant", "y"), turn("system", "now"), turn("user", "z")]
    found = made(api, stack, late_system="hoist")
    payload = found.to_json()
    said_there = next(payload[key] for key in ("messages", "input", "contents") if key in payload)
    talk = list(dropwhile(lambda message: message["role"] in ("system", "developer"), said_there))
    assert "now" in json.dumps(payload)
    assert "now" not in json.dumps(talk)
    assert [message["role"] for message in talk] == ["user", "model" if api == "gemini_native" else "assistant", "user"]
    assert [(change.kind, change.refs) for change in found.changes] == [("moved", ((3, 0),))]


def test_all_instructions_in_one_where_a_template_takes_no_other() -> None:
    stack = [turn("system", Text("a", cache=True)), turn("user", "x"), turn("system", "b"), turn("user", "y")]
    found, made_job = run(merge_system, stack, facts={"system_first_only": True})
    assert shown(found) == [("system", ["a\n\nb"]), ("user", ["x"]), ("user", ["y"])]
    assert found[0].content[0].cache is True
    assert told(made_job) == [("merged", [(2, 0)])]


@over_apis
@pytest.mark.parametrize("blank", ["", " \n"])
def test_blank_instructions_vanish(api: str, blank: str) -> None:
    if api == "chat_completions":
        return  # a blank instruction is legal there
    for stack in ([turn("system", blank), turn("user", "q")], [turn("user", "q"), turn("system", blank)]):
        found = made(api, stack)
        assert said(api, found.to_json()) == [("user", "text", "q")]
        assert {change.kind for change in found.changes} == {"dropped"}


@over_apis
def test_instructions_alone_are_not_lost(api: str) -> None:
    found = said(api, made(api, [turn("system", "be")]).to_json())
    assert found[0] == ("system", "text", "be")
    assert found[1:] == ([] if api == "chat_completions" else [("user", "text", EMPTY_MESSAGE)])


# --- turns --------------------------------------------------------------------------------------


def test_neighbours_of_one_role_become_one_turn() -> None:
    stack = [turn("user", "a"), turn("user", "b"), turn("assistant", "c"), turn("assistant", "d"), turn("user", "e")]
    found, made_job = run(merge_same_role, stack)
    assert shown(found) == [("user", ["a", "b"]), ("assistant", ["c", "d"]), ("user", ["e"])]
    assert told(made_job) == [("merged", [(1, 0)]), ("merged", [(3, 0)])]


def test_results_of_one_group_are_no_change() -> None:
    results = [turn("user", ActionResultMessageContent(tag, "ok")) for tag in "ab"]
    found, made_job = run(merge_same_role, results)
    assert len(found) == 1
    assert told(made_job) == []


def test_names_of_merged_messages_stay() -> None:
    stack = [Message("user", (Text("a"),), "bob"), Message("user", (Text("b"),), "eve"), Message("user", (Text("c"),))]
    assert [message.name for message in run(merge_same_role, stack)[0]] == ["bob, eve"]
    (told_name,) = changes_of(made("anthropic_messages", stack), "rewritten")
    assert "bob, eve" in told_name.why


@pytest.mark.parametrize(
    ("stack", "lead"),
    [
        ([turn("assistant", "hello"), turn("user", "x")], ("user", [LEADING_USER])),
        ([turn("system", "s"), turn("assistant", "hello")], ("user", [LEADING_USER])),
        ([turn("system", "s")], ("user", [EMPTY_MESSAGE])),
        ([], ("user", [EMPTY_MESSAGE])),
    ],
)
def test_the_first_turn_is_the_users(stack: list[Message], lead: Any) -> None:
    found, made_job = run(lead_with_user, stack)
    assert lead in shown(found)
    assert len(found) == len(stack) + 1
    assert [kind for kind, _ in told(made_job)] == ["added"]


@pytest.mark.parametrize(
    ("prefill", "block", "left", "kinds_told"),
    [
        (None, "The answer is", ["The answer is"], []),
        (True, "The answer is \n", ["The answer is"], ["rewritten"]),
        (None, " \n", None, ["dropped"]),
        (False, "The answer is ", ["The answer is "], ["added"]),
        (False, Thinking("hm", signature="s"), ["hm"], ["added"]),
    ],
)
def test_an_unfinished_answer(prefill: bool | None, block: Any, left: Any, kinds_told: list[str]) -> None:
    stack = [turn("user", "q"), turn("assistant", block)]
    found, made_job = run(last_turn, stack, facts={"prefill": prefill})
    assert shown(found)[1:2] == ([] if left is None else [("assistant", left)])
    assert shown(found)[2:] == ([("user", [CONTINUE])] if prefill is False else [])
    assert [kind for kind, _ in told(made_job)] == kinds_told


def test_only_the_last_text_of_an_unfinished_answer_is_trimmed() -> None:
    found, _ = run(last_turn, [turn("assistant", "a ", "b ")])
    assert shown(found) == [("assistant", ["a ", "b"])]
    found, made_job = run(last_turn, [turn("assistant", "a ", " ")])
    assert shown(found) == [("assistant", ["a "])]
    assert told(made_job) == [("dropped", [(0, 1)])]


def test_a_paused_turn_and_open_calls_are_no_prefill() -> None:
    server = GenericMessageContent({"type": "server_tool_use"})
    paused = [turn("user", "q"), turn("assistant", "x ", server)]
    assert passes.paused(paused[1])
    assert run(last_turn, paused, facts={"prefill": False})[0] == paused
    found = made("anthropic_messages", [turn("user", "q"), turn("assistant", CALL)], facts={"prefill": False})
    assert found.open_calls == ("a",)
    assert len(found.to_json()["messages"]) == 2


# --- blanks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u00a0", "\u3000"])
def test_blank_texts_beside_others_are_dropped(blank: str) -> None:
    found, made_job = run(drop_blank_text, [turn("user", "a", blank, "b"), turn("assistant", CALL, blank)])
    assert [len(message.content) for message in found] == [2, 1]
    assert told(made_job) == [("dropped", [(0, 1)]), ("dropped", [(1, 1)])]


def test_blank_texts_inside_a_result_are_dropped() -> None:
    result = ActionResultMessageContent("a", parts=(Text(" "), Text("x")))
    found, made_job = run(drop_blank_text, [turn("user", result)])
    assert found[0].content[0].to_text() == "x"
    assert told(made_job) == [("rewritten", [(0, 0)])]


def test_what_a_signature_is_bound_to_is_never_blank() -> None:
    stack = [turn("assistant", Thinking("", signature="s"))]
    assert run(drop_blank_text, stack)[0] == stack
    origin = Origin("anthropic_messages", MODELS["anthropic_messages"])
    kept = [turn("user", "q"), turn("assistant", Thinking("", signature="s", origin=origin), "x"), turn("user", "y")]
    assert ("assistant", "thinking", "") in events("anthropic_messages", kept)


@over_apis
def test_a_turn_that_would_be_empty_gets_one_constant(api: str) -> None:
    found = made(api, [turn("user"), turn("assistant"), turn("user", "x")])
    texts = [event[2] for event in said(api, found.to_json())]
    assert texts == ([EMPTY_MESSAGE, "x"] if api == "codex_responses" else [EMPTY_MESSAGE, EMPTY_ANSWER, "x"])
    assert set(kinds(found)) == {"added"}


@over_apis
def test_a_turn_with_calls_holds_only_the_calls(api: str) -> None:
    stack = [turn("user", "q"), turn("assistant", "", CALL), turn("user", RESULT)]
    assert [event[1] for event in events(api, stack)] == ["text", "call", "result"]


def test_filling() -> None:
    found, made_job = run(fill_empty, [turn("user"), turn("assistant"), turn("user", "x")])
    assert shown(found) == [("user", [EMPTY_MESSAGE]), ("assistant", [EMPTY_ANSWER]), ("user", ["x"])]
    assert [kind for kind, _ in told(made_job)] == ["added", "added"]


# --- media --------------------------------------------------------------------------------------


def test_pictures_follow_the_whole_group_of_the_assistant() -> None:
    stack = [
        turn("assistant", "see", Image(PNG)),
        turn("assistant", "and", DocumentMessageContent(PDF)),
        turn("user", "x"),
    ]
    found, made_job = run(move_media("m", (Image, DocumentMessageContent), ()), stack)
    assert [message.role for message in found] == ["assistant", "assistant", "user", "user"]
    assert [block.to_text() for block in found[2].content] == [
        "Image from the previous answer:", "[image]", "Attachment from the previous answer:", "[document]",
    ]  # fmt: skip
    assert told(made_job) == [("moved", [(0, 1)]), ("moved", [(1, 1)])]


def test_pictures_of_results_follow_the_whole_group_of_results() -> None:
    result = ActionResultMessageContent("a", parts=(Text("see"), Image(PNG)))
    for answers in ([turn("user", result, RESULT, "go on")], [turn("user", result), turn("user", RESULT, "go on")]):
        found, made_job = run(move_media("m", (), (Image,)), [turn("assistant", CALL), *answers])
        texts = [block.to_text() for message in found for block in message.content][1:]
        assert texts == ["see", "ok", "Image from tool call a:", "[image]", "go on"]
        assert told(made_job) == [("moved", [(1, 0)])]


def test_only_the_newest_pictures_stay() -> None:
    def shot(n: int) -> list[Message]:
        picture = ActionResultMessageContent(f"c{n}", parts=(Text("see"), Image(PNG)))
        return [turn("assistant", ActionCallMessageContent(f"c{n}", "shoot")), turn("user", picture)]

    stack = [*shot(0), *shot(1), turn("assistant", Thinking("hm", signature="s"), "t"), *shot(2)]
    assert run(keep_screenshots, stack)[0] == stack
    found, made_job = run(keep_screenshots, stack, keep_screenshots=2)
    results = [block for message in found for block in message.content if isinstance(block, ActionResultMessageContent)]
    parts = [[part.to_text() for part in result.parts or ()] for result in results]
    assert parts == [["see", "[image removed]"], ["see", "[image]"], ["see", "[image]"]]
    assert told(made_job) == [("dropped", [(1, 0)])]
    bound, made_job = run(keep_screenshots, stack, keep_screenshots=2, facts={"reasoning_prefix_bound": True})
    assert told(made_job) == [("dropped", [(1, 0)]), ("dropped", [(4, 0)])]
    assert shown(bound)[4] == ("assistant", ["t"])
    assert run(keep_screenshots, stack, keep_screenshots=9)[0] == stack


# --- what others made ---------------------------------------------------------------------------


def test_blocks_that_only_another_api_knows_are_dropped() -> None:
    theirs = GenericMessageContent({"type": "web_search_call"}, origin=Origin("codex_responses"), cache=True)
    ours = GenericMessageContent({"type": "server_tool_use"}, origin=Origin("anthropic_messages"))
    unknown = GenericMessageContent({"type": "thing"})
    stack = [turn("user", "q"), turn("assistant", "x", theirs, ours, unknown)]
    found, made_job = run(drop_generic_of_others("anthropic_messages"), stack)
    assert found[1].content[1:] == (ours, unknown)
    assert found[1].content[0].cache is True
    assert told(made_job) == [("dropped", [(1, 1)]), ("moved", [(1, 1)])]


def thought(origin: Origin | None, **fields: Any) -> list[Message]:
    return [turn("user", "q"), turn("assistant", Thinking("hm", origin=origin, **fields), "x"), turn("user", "y")]


SEALS = {"anthropic_messages": {"signature": "s"}, "codex_responses": {"encrypted_content": "e", "id": "rs_1"}}


@pytest.mark.parametrize("api", list(SEALS))
@pytest.mark.parametrize("known", [True, False])
def test_reasoning_goes_back_to_its_maker_or_where_nothing_is_known_of_it(api: str, known: bool) -> None:
    origin = Origin(api, MODELS[api]) if known else None
    found = made(api, thought(origin, **SEALS[api]))
    assert said(api, found.to_json())[1:3] == [("assistant", "thinking", "hm"), ("assistant", "text", "x")]
    assert found.changes == ()


@over_apis
@pytest.mark.parametrize("maker", ["other model", "other api", "other host"])
def test_reasoning_of_another_is_dropped(api: str, maker: str) -> None:
    origins = {
        "other model": Origin(api, "other-model"),
        "other api": Origin("gemini_native", "gemini-3-pro"),
        "other host": Origin(api, MODELS[api], "proxy.example"),
    }
    found = made(api, thought(origins[maker], **SEALS.get(api, {})))
    assert [event[1] for event in said(api, found.to_json())] == ["text", "text", "text"]
    assert [(change.kind, change.refs) for change in found.changes] == [("dropped", ((1, 0),))]


@over_apis
def test_reasoning_of_another_may_stand_as_text(api: str) -> None:
    found = made(api, thought(Origin("gemini_native", "g")), foreign_reasoning="text")
    assert said(api, found.to_json())[1] == ("assistant", "text", "hm")
    assert kinds(found) == ["rewritten"]
    opaque = [turn("user", "q"), turn("assistant", Thinking(data="blob", origin=Origin("gemini_native")), "x")]
    assert "dropped" in kinds(made(api, [*opaque, turn("user", "y")], foreign_reasoning="text"))


@over_apis
def test_unsigned_reasoning_is_dropped_where_a_seal_is_needed(api: str) -> None:
    found = made(api, thought(None))
    assert [event[1] for event in said(api, found.to_json())] == ["text", "text", "text"]
    assert kinds(found) == ["dropped"]


@over_apis
def test_reasoning_may_be_left_out(api: str) -> None:
    origin = Origin(api, MODELS[api])
    found = made(api, thought(origin, **SEALS.get(api, {})), replay_reasoning=False)
    assert [event[1] for event in said(api, found.to_json())] == ["text", "text", "text"]


@over_apis
@pytest.mark.parametrize("role", ["user", "system"])
def test_only_the_assistant_reasons(api: str, role: str) -> None:
    block = Thinking("hm", signature="s", encrypted_content="e")
    found = made(api, [turn(role, block, "x"), turn("user", "y")])
    assert "thinking" not in [event[1] for event in said(api, found.to_json())]
    assert ("dropped", ((0, 0),)) in [(change.kind, change.refs) for change in found.changes]


@pytest.mark.parametrize(
    ("origin", "facts", "host", "same"),
    [
        (None, {}, None, None),
        (Origin(), {}, None, None),
        (Origin("anthropic_messages"), {}, None, True),
        (Origin(None, "claude-opus-4-8"), {}, None, True),
        (Origin("anthropic_messages", "claude-opus-4-8"), {}, None, True),
        (Origin("anthropic_messages", "anthropic/claude-opus-4.8"), {}, None, True),
        (Origin("anthropic_messages", "claude-opus-5"), {}, None, False),
        (Origin("codex_responses", "claude-opus-4-8"), {}, None, False),
        (Origin("anthropic_messages", "claude-opus-4-8", "api.anthropic.com"), {}, "api.anthropic.com", True),
        (Origin("anthropic_messages", "claude-opus-4-8", "other.example"), {}, "api.anthropic.com", False),
        (Origin("anthropic_messages", "claude-opus-5"), {"reads_reasoning_from": ("claude-opus-5",)}, None, True),
        (Origin("gemini_native", "g"), {"same_model_as_history": True}, None, True),
        (None, {"same_model_as_history": False}, None, False),
    ],
)
def test_who_made_a_block(origin: Any, facts: dict[str, Any], host: str | None, same: bool | None) -> None:
    made_job = job(model="claude-opus-4-8", facts=facts, host=host)
    assert same_origin(Thinking("hm", origin=origin), made_job) is same


# --- the setting that takes no loss -------------------------------------------------------------


@over_apis
@pytest.mark.parametrize(
    ("stack", "passes_it"),
    [
        ([turn("user", "q"), turn("assistant", "a"), turn("user", "b")], True),
        ([turn("user", "a"), turn("user", "b")], True),  # merged is no loss
        ([turn("user", "q"), turn("assistant", Thinking("hm"), "x"), turn("user", "y")], False),
        ([turn("user", "q"), turn("assistant", CALL), turn("user", "x")], False),
        ([turn("user"), turn("assistant", "a"), turn("user", "x")], False),
    ],
)
def test_strict_conversion_refuses_what_is_dropped_coerced_or_added(api: str, stack: Any, passes_it: bool) -> None:
    if passes_it:
        made(api, stack, strict_conversion=True)
        return
    with pytest.raises(ConversionError, match=r"^strict_conversion: ") as caught:
        made(api, stack, strict_conversion=True)
    assert caught.value.rule in [change.step for change in caught.value.changes]
