"""The turns of a request to Converse: roles, blanks, documents, calls without tools, what is replayed."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import (
    ActionCallMessageContent,
    ActionResultMessageContent,
    Conversion,
    ConversionError,
    DocumentMessageContent,
    GenericMessageContent,
    ImageMessageContent,
    Message,
    Origin,
    PromptStack,
    TextMessageContent,
    ThinkingMessageContent,
)
from llmneutral.transports.bedrock_converse.turns import fit_name

API = "bedrock_converse"
CLAUDE, LLAMA = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "meta.llama3-1-70b-instruct-v1:0"
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF").decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8).decode()
OWN = Origin(API)
CALL = ActionCallMessageContent("c1", "look", input={"a": 1})
TOOLS = [{"type": "function", "function": {"name": "look"}}]


def turn(role: str, *blocks: Any) -> Message:
    """A message; text stands for one block."""
    return Message(role, tuple([TextMessageContent(b) if isinstance(b, str) else b for b in blocks]))


def made(*messages: Message, **more: Any) -> Conversion:
    found = ln.convert(PromptStack(messages), API, **{"model": CLAUDE, **more})
    assert isinstance(found, Conversion)
    return found


def told(conversion: Conversion) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


def shape(conversion: Conversion) -> list[tuple[str, list[str]]]:
    """The roles, and what their blocks are: texts by their words, others by their kind."""
    return [
        (message["role"], [block.get("text", next(iter(block))) for block in message["content"]])
        for message in conversion.payload["messages"]
    ]


# --- roles ----------------------------------------------------------------------------------------


def test_neighbours_of_one_role_are_one_turn() -> None:
    found = made(
        turn("user", "a"), turn("user", "b"), turn("assistant", "c"), turn("assistant", "d"), turn("user", "e")
    )
    assert shape(found) == [("user", ["a", "b"]), ("assistant", ["c", "d"]), ("user", ["e"])]
    assert told(found) == [("merge_same_role", "merged")] * 2


def test_the_first_turn_is_the_user_s() -> None:
    found = made(turn("assistant", "Hello"), turn("user", "Hi"))
    assert shape(found) == [("user", ["(empty)"]), ("assistant", ["Hello"]), ("user", ["Hi"])]
    assert told(found) == [("lead_with_user", "added")]


@pytest.mark.parametrize(
    ("model", "last"),
    [
        (CLAUDE, ("assistant", ["Well"])),
        (None, ("assistant", ["Well"])),
        ("us.anthropic.claude-opus-4-8-v1:0", ("user", ["Continue."])),
        ("us.amazon.nova-pro-v1:0", ("user", ["Continue."])),
        ("acme.unknown-1", ("user", ["Continue."])),
    ],
)
def test_an_answer_that_is_begun(model: str | None, last: tuple[str, list[str]]) -> None:
    assert shape(made(turn("user", "q"), turn("assistant", "Well "), model=model))[-1] == last


def test_a_turn_that_waits_for_amazon_s_tool_goes_back_unchanged() -> None:
    server = GenericMessageContent({"toolUse": {"toolUseId": "s", "type": "server_tool_use"}}, origin=OWN)
    found = made(turn("user", "q"), turn("assistant", server), model="us.amazon.nova-2-lite-v1:0")
    assert shape(found)[-1] == ("assistant", ["toolUse"])
    assert found.changes == ()


def test_instructions_are_blocks_in_their_order() -> None:
    found = made(turn("system", "A"), turn("developer", "B", " "), turn("system", ""), turn("user", "q"))
    assert found.payload["system"] == [{"text": "A"}, {"text": "B"}]
    assert told(found) == [("drop_blank_text", "dropped")] * 2


def test_blank_instructions_vanish() -> None:
    assert "system" not in made(turn("system", "  "), turn("user", "q")).payload


def test_instructions_alone_get_a_turn_of_the_user() -> None:
    found = made(turn("system", "A"))
    assert (found.payload["system"], shape(found)) == ([{"text": "A"}], [("user", ["(empty message)"])])


def test_pictures_are_no_instructions() -> None:
    with pytest.raises(ConversionError, match="instructions are text"):
        made(turn("system", ImageMessageContent(PNG)), turn("user", "q"))


def test_guards_may_stand_among_instructions() -> None:
    guard = {"guardContent": {"text": {"text": "t"}}}
    found = made(turn("system", "A", GenericMessageContent(guard, origin=OWN)), turn("user", "q"))
    assert found.payload["system"] == [{"text": "A"}, guard]


def test_later_instructions_stand_in_place() -> None:
    messages = [turn("user", "q"), turn("system", "brief!"), turn("assistant", "A"), turn("user", "b")]
    assert shape(made(*messages))[0] == ("user", ["q", "<system>\nbrief!\n</system>"])
    new = made(*messages, model="us.anthropic.claude-opus-4-8-v1:0")
    assert shape(new)[:2] == [("user", ["q"]), ("system", ["brief!"])]
    hoisted = made(*messages, late_system="hoist")
    assert hoisted.payload["system"] == [{"text": "brief!"}]


def test_blank_turns_get_a_constant() -> None:
    found = made(turn("user", " "), turn("assistant", ""), turn("user", "q"))
    assert shape(found) == [("user", ["(empty message)"]), ("assistant", ["(empty)"]), ("user", ["q"])]


def test_names_of_participants_are_not_sent() -> None:
    found = made(Message("user", (TextMessageContent("q"),), "Ann"))
    assert told(found) == [("frame", "rewritten")]


# --- documents ------------------------------------------------------------------------------------


def names(conversion: Conversion) -> list[str]:
    blocks = [block for message in conversion.payload["messages"] for block in message["content"]]
    blocks += [part for block in blocks for part in block.get("toolResult", {}).get("content", ())]
    return [block["document"]["name"] for block in blocks if "document" in block]


@pytest.mark.parametrize(
    ("given", "fit"),
    [
        ("Report (2) [final] - a", "Report (2) [final] - a"),
        ("Q3_report  v1.2", "Q3 report v1 2"),
        ("  Überblick/größe\t", "Uberblick gro e"),
        ("日本", "Document"),
        ("", "Document"),
        (None, "Document"),
        ("x" * 250, "x" * 200),
    ],
)
def test_names_have_what_is_taken(given: str | None, fit: str) -> None:
    assert fit_name(given) == fit


def test_the_ending_of_a_name_is_its_format_and_no_change() -> None:
    found = made(turn("user", "q", DocumentMessageContent(PDF, name="a.pdf", media_type="application/pdf")))
    assert names(found) == ["a"]
    assert found.changes == ()


def test_names_are_unique_over_the_whole_request() -> None:
    one, two, three = [DocumentMessageContent(PDF, name=name) for name in ("a.pdf", "a.txt", "a (2).pdf")]
    inside = ActionResultMessageContent("c1", parts=(DocumentMessageContent(PDF, name="a.pdf"),))
    called = [turn("assistant", CALL), turn("user", inside)]
    found = made(turn("user", "q", one, two, three), *called, tools=TOOLS)
    assert names(found) == ["a", "a (2)", "a (2) (2)", "a (3)"]
    assert [change for change in told(found) if change[0] == "document_names"] == [("document_names", "renamed")] * 3


def test_the_title_is_the_name_where_there_is_one() -> None:
    found = made(turn("user", "q", DocumentMessageContent(PDF, name="x.pdf", title="Report")))
    assert names(found) == ["Report"]


def test_a_later_document_changes_no_earlier_name() -> None:
    first = turn("user", "q", DocumentMessageContent(PDF))
    later = turn("user", "r", DocumentMessageContent(PDF, name="Document.pdf"))
    short, long = made(first), made(first, turn("assistant", "A"), later)
    assert long.payload["messages"][0] == short.payload["messages"][0]
    assert names(long) == ["Document", "Document (2)"]


def test_a_document_alone_gets_a_text() -> None:
    found = made(turn("user", DocumentMessageContent(PDF, name="a.pdf")))
    assert shape(found) == [("user", ["document", "Attached document."])]
    assert told(found) == [("document_texts", "added")]
    assert found.changes[0].refs == ((0, 0),)


def test_a_document_in_a_result_needs_none() -> None:
    inside = ActionResultMessageContent("c1", parts=(DocumentMessageContent(PDF, name="a.pdf"),))
    found = made(turn("user", "q"), turn("assistant", CALL), turn("user", inside), tools=TOOLS)
    assert shape(found)[-1] == ("user", ["toolResult"])


def test_a_document_of_the_assistant_is_shown_by_the_user() -> None:
    found = made(turn("user", "q"), turn("assistant", DocumentMessageContent(PDF, name="a.pdf"), "see"))
    assert shape(found)[1:] == [
        ("assistant", ["see"]),
        ("user", ["Attachment from the previous answer:", "document"]),
    ]


# --- calls and results ----------------------------------------------------------------------------


def test_results_stand_in_one_turn_before_the_user_s_words() -> None:
    calls = [ActionCallMessageContent(tag, "look") for tag in ("a", "b")]
    results = [ActionResultMessageContent(tag, tag) for tag in ("b", "a")]
    found = made(
        turn("user", "q"),
        turn("assistant", *calls),
        *[turn("user", r) for r in results],
        turn("user", "so"),
        tools=TOOLS,
    )
    content = found.payload["messages"][2]["content"]
    assert [block["toolResult"]["toolUseId"] for block in content[:2]] == ["a", "b"]
    assert content[2] == {"text": "so"}


def test_a_call_without_result_gets_one() -> None:
    found = made(turn("user", "q"), turn("assistant", CALL), turn("user", "never mind"), tools=TOOLS)
    answer = found.payload["messages"][2]["content"][0]["toolResult"]
    assert (answer["toolUseId"], answer["status"]) == ("c1", "error")
    assert ("pair_results", "added") in told(found)


def test_calls_that_wait_are_named() -> None:
    assert made(turn("user", "q"), turn("assistant", CALL), tools=TOOLS).open_calls == ("c1",)


@pytest.mark.parametrize(
    ("given", "sent"), [("a.b:c-d_e", "a.b:c-d_e"), ("a b/c", "a_b_c"), ("x" * 64, "x" * 64), ("x" * 65, None)]
)
def test_ids_of_calls(given: str, sent: str | None) -> None:
    call, done = ActionCallMessageContent(given, "look"), ActionResultMessageContent(given, "r")
    found = made(turn("user", "q"), turn("assistant", call), turn("user", done), tools=TOOLS)
    tag = found.payload["messages"][1]["content"][0]["toolUse"]["toolUseId"]
    assert tag == found.payload["messages"][2]["content"][0]["toolResult"]["toolUseId"]
    assert len(tag) <= 64
    assert sent in (None, tag)
    assert told(found) == ([] if given == sent else [("canonical_ids", "renamed")])


HISTORY = (turn("user", "q"), turn("assistant", CALL), turn("user", ActionResultMessageContent("c1", "r")))


def test_a_history_of_calls_brings_its_tools() -> None:
    found = made(*HISTORY)
    spec = {"name": "look", "description": "Used earlier in this conversation."}
    schema = {"json": {"type": "object", "properties": {}}}
    assert found.payload["toolConfig"] == {"tools": [{"toolSpec": {**spec, "inputSchema": schema}}]}
    assert told(found) == [("tools", "added")]
    assert found.changes[0].refs == ((1, 0),)


def test_each_tool_of_the_history_is_defined_once_by_its_native_name() -> None:
    calls = [ActionCallMessageContent(str(i), name) for i, name in enumerate(["b.c", "a", "b.c"])]
    done = turn("user", *[ActionResultMessageContent(str(i), "r") for i in range(3)])
    tools = made(turn("user", "q"), turn("assistant", *calls), done).payload["toolConfig"]["tools"]
    assert [tool["toolSpec"]["name"] for tool in tools] == ["b_c", "a"]


def test_the_history_may_be_flattened() -> None:
    found = made(*HISTORY, flatten_tools=True)
    assert "toolConfig" not in found.payload
    assert shape(found)[1:] == [
        ("assistant", ['[Tool call c1: look({"a": 1})]']),
        ("user", ["[Result of tool call c1]\nr"]),
    ]
    assert told(found) == [("flatten_tools", "rewritten")] * 2


def test_flattening_keeps_pictures_and_drops_what_was_sealed() -> None:
    sealed = ThinkingMessageContent("hm", signature="s", origin=OWN)
    parts = (TextMessageContent("see"), ImageMessageContent(PNG))
    done = ActionResultMessageContent("c1", parts=parts, is_error=True)
    found = made(turn("user", "q"), turn("assistant", sealed, CALL), turn("user", done), flatten_tools=True)
    assert shape(found)[2] == ("user", ["[Error of tool call c1]\nsee", "image"])
    assert ("flatten_tools", "dropped") in told(found)


def test_tools_that_are_offered_are_not_flattened() -> None:
    assert "toolConfig" in made(*HISTORY, tools=TOOLS, flatten_tools=True).payload


def test_a_model_without_tools_reads_them_as_text() -> None:
    model = "us.deepseek.r1-v1:0"
    found = made(*HISTORY, model=model, tools=TOOLS, tool_choice="required", use_native_tools=True)
    assert "toolConfig" not in found.payload
    assert [kind for _, kind in told(found)] == ["dropped", "rewritten", "rewritten", "dropped"]
    assert found.open_calls == ()
    in_form = made(*HISTORY, model=model, tools=TOOLS)  # unless they are asked for, tools go as text
    assert "toolConfig" not in in_form.payload
    assert {step for step, _ in told(in_form)} == {"react"}
    assert shape(in_form)[-1][1][0].startswith("Observations:")


# --- reasoning ------------------------------------------------------------------------------------


def test_reasoning_of_this_model_goes_back_from_its_answer() -> None:
    asked = made(turn("user", "q"))
    said = [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}, {"text": "A"}]
    body = {"output": {"message": {"role": "assistant", "content": said}}, "stopReason": "end_turn"}
    answer = ln.normalize(body, API, names=asked).message
    again = made(turn("user", "q"), answer, turn("user", "more"))
    assert again.payload["messages"][1]["content"] == said
    elsewhere = made(
        turn("user", "q"), answer, turn("user", "more"), model="us.anthropic.claude-haiku-4-5-20251001-v1:0"
    )
    assert elsewhere.payload["messages"][1]["content"] == [{"text": "A"}]
    assert told(elsewhere) == [("origin_of_reasoning", "dropped")]


def test_a_format_of_the_answer_leaves_no_room_for_a_prefill_or_citations() -> None:
    cited = DocumentMessageContent(PDF, name="a.pdf", native={"citations": {"enabled": True}}, origin=OWN)
    search = {"searchResult": {"source": "s", "title": "t", "content": [], "citations": {"enabled": True}}}
    asked = turn("user", cited, GenericMessageContent(search, origin=OWN), "q")
    found = made(asked, turn("assistant", "{"), output_schema={"type": "object", "properties": {}})
    document, result = found.payload["messages"][0]["content"][:2]
    assert "citations" not in document["document"]
    assert "citations" not in result["searchResult"]
    assert shape(found)[-1] == ("user", ["Continue."])
    assert told(found).count(("room_for_format", "coerced")) == 2
