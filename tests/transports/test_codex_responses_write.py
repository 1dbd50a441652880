"""Blocks → items: one test per row of the table of blocks."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import llmneutral as ln
from llmneutral import ConversionError, DocumentArtifact, ImageMessageContent, Message, Origin, TextMessageContent

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
PDF = base64.b64encode(b"%PDF-1.4 a page").decode()
OWN = Origin("codex_responses", "gpt-5.4", "api.openai.com")


def turn(role: str, content: Any) -> Message:
    """A message; text stands for one block."""
    return Message(role, content)


def convert(source: Any, **settings: Any) -> Any:
    settings.setdefault("model", "gpt-5.4")
    return ln.convert(source, "codex_responses", **settings)


def items(source: Any, **settings: Any) -> list[Any]:
    found: list[Any] = convert(source, **settings).payload["input"]
    return found


def asked(*blocks: Any) -> list[Message]:
    return [turn("user", blocks)]


def answered(*blocks: Any) -> list[Message]:
    return [turn("user", "q"), turn("assistant", blocks), turn("user", "and?")]


def kinds(conversion: Any) -> list[tuple[str, str]]:
    return [(change.step, change.kind) for change in conversion.changes]


# --- the user -----------------------------------------------------------------------------------


def test_a_turn_of_one_text_is_a_string() -> None:
    assert items(asked(TextMessageContent("hi"))) == [{"role": "user", "content": "hi"}]


def test_several_parts_are_typed() -> None:
    found = items(asked(TextMessageContent("look"), ImageMessageContent(data=PNG, media_type="image/png")))
    assert found == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        (
            ImageMessageContent(url="https://x.example/a.png"),
            {"detail": "auto", "image_url": "https://x.example/a.png"},
        ),
        (ImageMessageContent(file_id="file-1", detail="high"), {"detail": "high", "file_id": "file-1"}),
    ],
)
def test_images_by_address_and_by_file_id(image: Any, wanted: dict[str, str]) -> None:
    assert items(asked(image))[0]["content"] == [{"type": "input_image", **wanted}]


def test_the_bytes_of_an_image_decide_its_type() -> None:
    made = convert(asked(ImageMessageContent(data=PNG, media_type="image/jpeg")))
    assert made.payload["input"][0]["content"][0]["image_url"].startswith("data:image/png;")
    assert [change.kind for change in made.changes] == ["coerced"]


def test_a_type_that_is_not_taken_is_refused_or_noted() -> None:
    image = ImageMessageContent(data=base64.b64encode(b"<svg/>").decode(), media_type="image/svg+xml")
    with pytest.raises(ConversionError, match=r"image/svg\+xml"):
        convert(asked(image))
    made = convert(asked(image), unsupported_media="text")
    assert made.payload["input"][0]["content"] == [{"type": "input_text", "text": "[image/svg+xml not sent]"}]


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        (
            ln.DocumentMessageContent(data=PDF, media_type="application/pdf", name="a.pdf"),
            {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        ),
        (
            ln.DocumentMessageContent(data=PDF, media_type="application/pdf"),
            {"file_data": f"data:application/pdf;base64,{PDF}"},
        ),
        (ln.DocumentMessageContent(url="https://x.example/a.pdf"), {"file_url": "https://x.example/a.pdf"}),
        (ln.DocumentMessageContent(file_id="file-2"), {"file_id": "file-2"}),
        (
            ln.DocumentMessageContent(text="ä", name="n.txt"),
            {"filename": "n.txt", "file_data": "data:text/plain;base64,w6Q="},
        ),
    ],
)
def test_documents(document: Any, wanted: dict[str, str]) -> None:
    assert items(asked(document))[0]["content"] == [{"type": "input_file", **wanted}]


def test_a_document_made_of_blocks_stands_as_its_blocks() -> None:
    made = convert(
        asked(ln.DocumentMessageContent(parts=(TextMessageContent("one"), TextMessageContent("two")))), trace=True
    )
    assert [part["text"] for part in made.payload["input"][0]["content"]] == ["one", "two"]
    assert kinds(made) == [("open_documents", "rewritten")]
    assert made.trace["/input/0/content/1"] == ((0, 0),)


def test_what_a_document_says_beside_its_name_is_told() -> None:
    made = convert(asked(ln.DocumentMessageContent(file_id="f", name="a.pdf", title="T", context="C")))
    assert [change.kind for change in made.changes] == ["rewritten"]


def test_sound_is_refused_or_its_transcript_sent() -> None:
    sound = ln.AudioMessageContent(data="UklGRg==", media_type="audio/wav", transcript="hello there")
    with pytest.raises(ConversionError, match=r"audio.*unsupported_media"):
        convert(asked(sound))
    made = convert(asked(sound), unsupported_media="text")
    assert made.payload["input"] == [{"role": "user", "content": "hello there"}]
    assert kinds(made) == [("say_audio", "rewritten")]


def test_sound_inside_a_result_is_refused_or_noted() -> None:
    stack = ln.PromptStack.from_openai(
        [
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}],
            },
            {
                "role": "tool",
                "tool_call_id": "c",
                "content": [{"type": "input_audio", "input_audio": {"data": "SUQz"}}],
            },
        ]
    )
    with pytest.raises(ConversionError, match="audio"):
        convert(stack)
    assert items(stack, unsupported_media="text")[-1]["output"] == "[audio/wav not sent]"


def test_a_refusal_in_a_turn_of_the_user_is_text() -> None:
    made = convert(asked(ln.RefusalMessageContent("no")))
    assert made.payload["input"][0]["content"] == [{"type": "input_text", "text": "no"}]
    assert [change.kind for change in made.changes] == ["rewritten"]


# --- the assistant ------------------------------------------------------------------------------


def test_text_of_unknown_origin_takes_the_easy_form() -> None:
    found = items(answered(TextMessageContent("one"), TextMessageContent("two")))
    assert found[1:3] == [{"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"}]


def test_own_text_goes_back_as_the_item_it_came_in() -> None:
    native = {"id": "msg_1", "status": "completed", "phase": "final_answer"}
    blocks = [
        TextMessageContent("one", origin=OWN, native=native),
        TextMessageContent("two", origin=OWN, native=native),
        ln.RefusalMessageContent("no", origin=OWN, native=native),
        TextMessageContent("three", origin=OWN, native={**native, "id": "msg_2"}),
    ]
    found = items(answered(*blocks))
    assert found[1] == {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "one", "annotations": []},
            {"type": "output_text", "text": "two", "annotations": []},
            {"type": "refusal", "refusal": "no"},
        ],
        "phase": "final_answer",
    }
    assert found[2]["id"] == "msg_2"


@pytest.mark.parametrize(
    ("native", "origin", "settings"),
    [
        ({"id": "m", "status": "completed"}, Origin("codex_responses", "o3", "api.openai.com"), {}),
        ({"id": "m"}, OWN, {}),
        ({"id": "m" * 65, "status": "completed"}, OWN, {}),
        ({"id": "m", "status": "odd"}, OWN, {}),
        ({"id": "m", "status": "completed"}, OWN, {"facts": {"item_ids": False}}),
        ({"id": "m", "status": "completed"}, OWN, {"facts": {"same_model_as_history": False}}),
    ],
)
def test_other_text_keeps_its_phase_but_not_its_id(native: Any, origin: Any, settings: Any) -> None:
    block = TextMessageContent("said", origin=origin, native={**native, "phase": "commentary"})
    found = items(answered(block), **settings)
    assert found[1] == {"role": "assistant", "content": "said", "phase": "commentary"}


def test_a_refusal_of_another_maker_is_text() -> None:
    made = convert(answered(ln.RefusalMessageContent("I cannot.")))
    assert made.payload["input"][1] == {"role": "assistant", "content": "I cannot."}
    assert [change.kind for change in made.changes] == ["rewritten"]


def test_pictures_and_documents_of_the_assistant_are_shown_by_the_user() -> None:
    made = convert(answered(TextMessageContent("here"), ImageMessageContent(data=PNG, media_type="image/png")))
    assert [item["role"] for item in made.payload["input"]] == ["user", "assistant", "user", "user"]
    assert [part["type"] for part in made.payload["input"][2]["content"]] == ["input_text", "input_image"]
    assert ("media_of_the_assistant", "moved") in kinds(made)


def test_a_turn_is_written_in_the_order_of_its_blocks() -> None:
    thought = ln.ThinkingMessageContent("s", encrypted_content="RU5D", id="rs_1", summary=("s",), origin=OWN)
    calls = [ln.ActionCallMessageContent(f"c{n}", "f") for n in range(2)]
    stack = [
        turn("user", "q"),
        turn("assistant", (thought, calls[0], TextMessageContent("and"), calls[1])),
        turn("user", tuple(ln.ActionResultMessageContent(f"c{n}", "r") for n in range(2))),
    ]
    found = [item.get("type") or item["role"] for item in items(stack)]
    assert found == [
        "user",
        "reasoning",
        "function_call",
        "assistant",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]


# --- reasoning ----------------------------------------------------------------------------------


def test_own_encrypted_reasoning_goes_back() -> None:
    thought = ln.ThinkingMessageContent("a\n\nb", encrypted_content="RU5D", id="rs_1", summary=("a", "b"), origin=OWN)
    assert items(answered(thought, TextMessageContent("x")))[1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
        "encrypted_content": "RU5D",
    }


@pytest.mark.parametrize(("text", "summary"), [("", []), ("why", [{"type": "summary_text", "text": "why"}])])
def test_the_summary_is_always_there(text: str, summary: list[Any]) -> None:
    thought = ln.ThinkingMessageContent(text, encrypted_content="RU5D", origin=OWN)
    found = items(answered(thought, TextMessageContent("x")))[1]
    assert found["summary"] == summary
    assert "id" not in found


def test_the_text_of_reasoning_goes_back_where_it_came_so() -> None:
    content = [{"type": "reasoning_text", "text": "t"}]
    thought = ln.ThinkingMessageContent("t", encrypted_content="E", summary=(), origin=OWN, native={"content": content})
    found = items(answered(thought, TextMessageContent("x")))[1]
    assert (found["summary"], found["content"]) == ([], content)


def test_an_item_id_that_is_too_long_is_left_out_and_told() -> None:
    thought = ln.ThinkingMessageContent("", encrypted_content="E", id="r" * 65, origin=OWN)
    made = convert(answered(thought, TextMessageContent("x")))
    assert "id" not in made.payload["input"][1]
    assert [change.kind for change in made.changes] == ["rewritten"]


# --- calls and results --------------------------------------------------------------------------


def called(**fields: Any) -> list[Message]:
    call = ln.ActionCallMessageContent("call_1", "f", **fields)
    return [
        turn("user", "q"),
        turn("assistant", (call,)),
        turn("user", (ln.ActionResultMessageContent("call_1", "r"),)),
    ]


def test_a_call_has_its_arguments_as_text_and_no_item_id() -> None:
    found = items(called(input={"a": "ä"}, item_id="fc_1", origin=OWN))
    assert found[1:] == [
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a": "ä"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "r"},
    ]


def test_arguments_that_came_as_text_go_back_byte_for_byte() -> None:
    assert items(called(input={"a": 1}, arguments='{ "a" :1}'))[1]["arguments"] == '{ "a" :1}'


@pytest.mark.parametrize(
    ("item_id", "origin", "sent"),
    [
        ("fc_1", OWN, True),
        ("call_1", OWN, False),
        ("fc_1", Origin("codex_responses", "o3"), False),
        ("fc_" + "1" * 64, OWN, False),
    ],
)
def test_item_ids_of_calls_go_back_where_the_endpoint_wants_them(item_id: str, origin: Origin, sent: bool) -> None:
    found = items(called(item_id=item_id, origin=origin), facts={"send_item_ids": True})[1]
    assert ("id" in found) is sent


def test_namespace_and_caller_of_an_own_call_go_back() -> None:
    native = {"namespace": "crm", "caller": {"type": "direct"}}
    assert items(called(native=native, origin=OWN))[1] | native == items(called(native=native, origin=OWN))[1]
    assert "caller" not in items(called(native=native, origin=Origin("codex_responses", "o3")))[1]


def test_names_of_the_history_are_made_fit() -> None:
    plain = ln.ActionCallMessageContent("call_1", "a.b")
    own = ln.ActionCallMessageContent("call_1", "a.b", native={"namespace": "n"}, origin=OWN)
    for call in (plain, own):
        stack = [
            turn("user", "q"),
            turn("assistant", (call,)),
            turn("user", (ln.ActionResultMessageContent("call_1", "r"),)),
        ]
        made = convert(stack)
        assert made.payload["input"][1]["name"] == "a_b"
        assert [(change.kind, change.refs) for change in made.changes] == [("renamed", ((1, 0),))]


def test_a_custom_call_and_its_output_are_items_of_their_own_kind() -> None:
    found = items(called(input={"input": "print(1)"}, native={"custom": True}))
    assert found[1:] == [
        {"type": "custom_tool_call", "call_id": "call_1", "name": "f", "input": "print(1)"},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "r"},
    ]


def test_an_invalid_call_goes_back_as_it_came() -> None:
    call = ln.InvalidActionCallMessageContent("c", "f", raw='{"a":')
    stack = [turn("user", "q"), turn("assistant", (call,)), turn("user", (ln.ActionResultMessageContent("c", "r"),))]
    assert items(stack)[1]["arguments"] == '{"a":'


def output(**fields: Any) -> Any:
    result = ln.ActionResultMessageContent("call_1", **fields)
    stack = [
        turn("user", "q"),
        turn("assistant", (ln.ActionCallMessageContent("call_1", "f"),)),
        turn("user", (result,)),
    ]
    return items(stack)[-1]["output"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("t", "t"), (None, ""), ({"a": "ä"}, '{"a": "ä"}'), ([1, 2], "[1, 2]"), (True, "true"), (float("nan"), '"NaN"')],
)
def test_results_are_text(value: Any, wanted: str) -> None:
    assert output(output=value) == wanted


def test_results_with_media_are_lists() -> None:
    parts = (TextMessageContent("desk"), ImageMessageContent(data=PNG, media_type="image/png"))
    assert output(parts=parts) == [
        {"type": "input_text", "text": "desk"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ]


def test_a_result_of_one_text_part_is_a_string_and_one_of_none_is_empty() -> None:
    assert output(parts=(TextMessageContent("r"),)) == "r"
    assert output(parts=()) == ""
    assert output(parts=(TextMessageContent("a"), TextMessageContent("b"))) == [
        {"type": "input_text", "text": "a"},
        {"type": "input_text", "text": "b"},
    ]


def test_a_failed_result_says_so_in_its_text() -> None:
    image = ImageMessageContent(data=PNG, media_type="image/png")
    assert output(output="no disk", is_error=True) == "Error: no disk"
    assert output(output="Error: no disk", is_error=True) == "Error: no disk"
    assert output(parts=(TextMessageContent("no disk"),), is_error=True) == "Error: no disk"
    assert [part.get("text") for part in output(parts=(image, TextMessageContent("x")), is_error=True)] == [
        None,
        "Error: x",
    ]
    assert [part["type"] for part in output(parts=(image,), is_error=True)] == ["input_text", "input_image"]


def test_what_has_no_form_inside_a_result_stands_as_text() -> None:
    assert output(parts=(ln.RefusalMessageContent("no"), TextMessageContent("x")))[0] == {
        "type": "input_text",
        "text": "no",
    }
    assert output(parts=(ln.ThinkingMessageContent("hm"), TextMessageContent("x")))[0] == {
        "type": "input_text",
        "text": "hm",
    }


def test_bytes_in_a_result_are_refused() -> None:
    with pytest.raises(ConversionError, match="bytes"):
        output(output=b"x")


def test_an_artifact_in_a_result_becomes_parts() -> None:
    action = ln.ToolAction("call_1", "f", output=DocumentArtifact(b"%PDF-1", name="a.pdf"))
    stack = ln.PromptStack()
    stack.add_user_message("q")
    stack.add_assistant_message(ln.ActionCallMessageContent("call_1", "f"))
    stack.add_user_message(ln.ActionArtifact(action))
    assert items(stack)[-1]["output"][0]["type"] == "input_file"


# --- items of this API only ---------------------------------------------------------------------


def test_own_items_go_back_as_they_came() -> None:
    value = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
    made = convert(answered(ln.GenericMessageContent(value, origin=OWN), TextMessageContent("x")))
    assert made.payload["input"][1] == value
    assert made.changes == ()
    assert made.payload["input"][1] is not value


@pytest.mark.parametrize(
    "origin",
    [Origin("anthropic_messages"), Origin("codex_responses", "grok-4", "api.x.ai")],
    ids=["other API", "other host"],
)
def test_items_of_others_are_dropped(origin: Origin) -> None:
    made = convert(
        answered(ln.GenericMessageContent({"type": "x_search_call"}, origin=origin), TextMessageContent("x"))
    )
    assert [item["content"] for item in made.payload["input"]] == ["q", "x", "and?"]
    assert [(change.kind, change.refs) for change in made.changes] == [("dropped", ((1, 0),))]


def test_items_lose_ids_that_are_too_long_or_not_taken() -> None:
    block = ln.GenericMessageContent({"type": "web_search_call", "id": "w" * 65}, origin=OWN)
    assert items(answered(block))[1] == {"type": "web_search_call"}
    short = ln.GenericMessageContent({"type": "web_search_call", "id": "w"}, origin=OWN)
    assert items(answered(short), facts={"item_ids": False})[1] == {"type": "web_search_call"}


# --- cache breakpoints --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cache", "mark", "told"),
    [
        (True, {"mode": "explicit"}, []),
        ("30m", {"mode": "explicit", "ttl": "30m"}, []),
        ("1h", {"mode": "explicit", "ttl": "12h"}, ["coerced"]),
        ("5m", {"mode": "explicit"}, ["coerced"]),
    ],
)
def test_marks_are_breakpoints(cache: Any, mark: Any, told: list[str]) -> None:
    made = convert(asked(TextMessageContent("a", cache=cache)), model="gpt-5.6-sol")
    part = {"type": "input_text", "text": "a", "prompt_cache_breakpoint": mark}
    assert made.payload["input"] == [{"type": "message", "role": "user", "content": [part]}]
    assert [change.kind for change in made.changes] == told


def test_a_mark_on_a_result_makes_it_a_list() -> None:
    stack = called()
    stack[-1] = turn("user", (ln.ActionResultMessageContent("call_1", "r", cache=True),))
    assert items(stack, model="gpt-5.6-sol")[-1]["output"] == [
        {"type": "input_text", "text": "r", "prompt_cache_breakpoint": {"mode": "explicit"}}
    ]


def test_a_mark_on_an_instruction_keeps_it_in_the_input() -> None:
    stack = [turn("system", "a"), turn("system", (TextMessageContent("b", cache=True),)), turn("user", "q")]
    made = convert(stack, model="gpt-5.6-sol")
    assert made.payload["instructions"] == "a"
    assert made.payload["input"][0]["role"] == "developer"
    assert "prompt_cache_breakpoint" in made.payload["input"][0]["content"][0]


def test_a_target_without_breakpoints_gets_none() -> None:
    made = convert(asked(TextMessageContent("a", cache=True)), model="gpt-4.1")
    assert made.payload["input"] == [{"role": "user", "content": "a"}]
    assert kinds(made) == [("limit_cache_marks", "dropped")]
