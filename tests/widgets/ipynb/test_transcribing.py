"""A notebook as a conversation: what a reader sees of it, in messages, and what was cut."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets.ipynb.exports import conversation_to_notebook
from llmneutral_widgets.ipynb.notebook_file import NotebookError
from llmneutral_widgets.ipynb.transcribing import NotebookStack, stack_from_notebook
from tests.widgets.ipynb.test_extraction import record, shown, texts
from tests.widgets.ipynb.test_notebook_file import anything, code, notebook, said
from tests.widgets.samples import PNG, png, stack

KEY = "sk-ant-api03-abcdef0123456789abcdef"


def markdown(source: str, **fields: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source, **fields}


def display(**data: Any) -> dict[str, Any]:
    mimes = {key.replace("__", "+").replace("_", "/"): value for key, value in data.items()}
    return {"output_type": "display_data", "metadata": {}, "data": mimes}


def stream(text: Any) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def told(*cells: Any, **given: Any) -> list[str]:
    """The texts of a notebook's messages."""
    return [message.to_text() for message in stack_from_notebook(notebook(*cells), **given).messages]


def test_markdown_code_and_outputs() -> None:
    found = stack_from_notebook(notebook(markdown("# Title"), code("1 + 1", display(text_plain="2")), code("x = 1")))
    assert [(message.role, message.to_text()) for message in found.messages] == [
        ("user", "# Title"),
        ("user", "```python\n1 + 1\n```\nOutput:\n```\n2\n```"),
        ("user", "```python\nx = 1\n```"),
    ]
    assert found.notes == ()


def test_it_is_a_stack_like_any_other() -> None:
    found = stack_from_notebook(notebook(markdown("q")))
    plain = llmneutral.PromptStack([said("user", "q")])
    assert isinstance(found, NotebookStack)
    assert found == plain
    assert found.to_json() == plain.to_json()
    assert llmneutral.convert(found, "chat_completions", model="m").payload["messages"] == [
        {"role": "user", "content": "q"}
    ]


def test_cells_that_asked_bring_the_real_messages() -> None:
    found = stack_from_notebook(notebook(markdown("intro"), code("%%prompt\nq0", shown(record(0))), markdown("outro")))
    assert [(message.role, message.content[-1].to_text()) for message in found.messages] == [
        ("user", "intro"),
        ("user", "q0"),
        ("assistant", "a0"),
        ("user", "outro"),
    ]
    again = stack_from_notebook(conversation_to_notebook(stack()), cells=slice(1, None))
    assert again.messages == stack().messages


def test_what_a_conversation_began_with_stands_before_the_first_question() -> None:
    begun = [record(5, messages=[{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}])]
    history = {"messages": 2, "part": "x-0", "turn": 1, "after": 0, "begun": begun}
    stack = stack_from_notebook(notebook(code("%%prompt", shown(record(0, 5, history=history)))))
    assert [message.role for message in stack.messages] == ["system", "assistant", "user", "assistant"]


def test_what_would_not_be_sent_is_left_out_and_said() -> None:
    found = stack_from_notebook(
        notebook(code("%%prompt\nq", shown(record(0, status="failed"))), code("%%prompt\nr", shown({"odd": 1})))
    )
    assert [message.to_text() for message in found.messages] == ["```python\n%%prompt\nr\n```\nOutput:\n```\nx\n```"], (
        "what cannot be read is told as it is seen"
    )
    assert found.notes == (
        "cell 1 (c1): its exchange (failed) is left out",
        "cell 2 (c2): this is no exchange of llmneutral: it has no schema",
    )


def test_the_last_instruction_counts_and_stands_first() -> None:
    system = [{"role": "system", "content": [{"type": "text", "text": name}]} for name in ("one", "two")]
    found = stack_from_notebook(
        notebook(
            *[code("", shown(record(n, messages=[each, *record(n)["messages"]]))) for n, each in enumerate(system)]
        )
    )
    assert texts(found.messages) == ["two", "q0", "a0", "q1", "a1"]


def test_media_that_were_cut_are_named() -> None:
    cut = [{"at": "/messages/0/content/1", "was": "image/png, 812331 bytes", "sha256": "00"}]
    found = stack_from_notebook(notebook(code("%%prompt", shown(record(0, cut=cut)))))
    assert found.notes == ("cell 1 (c1): /messages/0/content/1 was cut when it was saved: image/png, 812331 bytes",)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (stream(["a\n", "b\n"]), "a\nb"),
        (stream("10%\r50%\r100%\r\ndone"), "100%\ndone"),
        (stream("\x1b[31mred\x1b[0m \x1b]8;;http://a\x07link"), "red link"),
        (stream("bell\x07"), "bell\ufffd"),
        (display(text_plain=["a", "b"], text_html="<b>ab</b>"), "ab"),
        (display(text_markdown="**a**", text_html="x"), "**a**"),
        (display(application_json={"a": [1, None]}), '{"a": [1, null]}'),
        (
            {
                "output_type": "error",
                "ename": "ValueError",
                "evalue": "no",
                "traceback": ["\x1b[0;31mTraceback\x1b[0m", "ValueError: no"],
            },
            "Traceback\nValueError: no",
        ),
        ({"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}, "ValueError: no"),
    ],
)
def test_outputs_are_what_is_read(output: Any, text: str) -> None:
    assert told(code("x", output)) == [f"```python\nx\n```\nOutput:\n```\n{text}\n```"]
    assert told(code("x", output), outputs="none") == ["```python\nx\n```"]


def test_outputs_without_text_are_named() -> None:
    found = stack_from_notebook(notebook(code("x", display(text_html="<b>", application_x__json={}))))
    assert found.messages[0].content[1].to_text() == "Output:\n```\n[application/x+json, text/html]\n```"
    assert found.notes == ("cell 1 (c1): an output without text is left out (application/x+json, text/html)",)


def test_small_pictures_are_pictures_and_large_ones_are_named() -> None:
    large = base64.b64encode(png() + bytes(40_000)).decode()
    found = stack_from_notebook(
        notebook(
            code("plot()", display(image_png=PNG + "\n", text_plain="<Figure>")),
            code("plot()", display(image_png=large, text_plain="<Figure>")),
            code("plot()", display(image_png=base64.b64encode(b"<svg onload=x>").decode())),
        )
    )
    assert found.messages[0].content[1:] == (llmneutral.ImageMessageContent(data=PNG, media_type="image/png"),)
    assert found.messages[1].content[1].to_text() == "Output:\n```\n[image/png, 39 KB]\n```"
    assert found.notes[:2] == (
        "cell 2 (c2): its picture is left out: image/png, 39 KB",
        "cell 3 (c3): its picture is no picture, though it is called image/png",
    )


def test_attachments_of_markdown() -> None:
    found = stack_from_notebook(notebook(markdown("![a](attachment:a.png)", attachments={"a.png": {"image/png": PNG}})))
    assert [type(block).__name__ for block in found.messages[0].content] == [
        "TextMessageContent",
        "ImageMessageContent",
    ]


def test_marks_of_a_newer_version_are_told_and_left_aside() -> None:
    marks = {"llmneutral": {"schema": 2, "role": "assistant", "fenced": True}}
    found = stack_from_notebook(notebook(markdown("#### assistant\n\nx", metadata=marks)))
    assert [(message.role, message.to_text()) for message in found.messages] == [("user", "#### assistant\n\nx")]
    assert found.notes == ("cell 1 (c1): written by a newer llmneutral (schema 2)",)


def test_what_is_too_long_is_cut_and_said() -> None:
    found = stack_from_notebook(notebook(markdown("m" * 11), code("c" * 12, stream("o" * 7), stream("p" * 7))), cap=10)
    assert [message.to_text() for message in found.messages] == [
        f"{'m' * 10}\n[… 1 more characters]",
        f"```python\n{'c' * 10}\n[… 2 more characters]\n```\nOutput:\n```\nooooooo\npp\n[… 5 more characters]\n```",
    ]
    assert found.notes == (
        "cell 1 (c1): its text: 11 characters were cut to 10",
        "cell 2 (c2): its code: 12 characters were cut to 10",
        "cell 2 (c2): its outputs: 15 characters were cut to 10",
    )


def test_empty_cells_say_nothing_and_raw_ones_are_named() -> None:
    found = stack_from_notebook(
        notebook(markdown(" \n"), code(""), code("", stream("")), {"cell_type": "raw", "metadata": {}, "source": "x"})
    )
    assert found.messages == []
    assert found.notes == ("cell 4 (c4): a raw cell is left out",)


def test_the_fence_is_longer_than_any_in_the_code() -> None:
    assert told(code("s = '''\n```\n'''")) == ["````python\ns = '''\n```\n'''\n````"]


def test_no_key_leaves_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PASSWORD", "correct horse battery")
    found = stack_from_notebook(
        notebook(
            markdown(f"key {KEY}"),
            code("login('correct horse battery')", stream(KEY), display(application_json={"k": KEY})),
            code("x", shown(record(0, messages=[{"role": "user", "content": [{"type": "text", "text": KEY}]}]))),
        )
    )
    assert KEY not in found.to_json()
    assert "battery" not in found.to_json()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (None, ["a", "b", "c"]),
        (slice(1, None), ["b", "c"]),
        ([2, 0], ["a", "c"]),
        ([-1, "c1"], ["a", "c"]),
        ("c2", ["b"]),
        (1, ["b"]),
        ([], []),
    ],
)
def test_some_cells(cells: Any, expected: list[str]) -> None:
    assert told(markdown("a"), markdown("b"), markdown("c"), cells=cells) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cells": ["c9"]}, "has no cell with the id c9; known: c1"),
        ({"cells": [3]}, "has 1 cell, and none with number 3"),
        ({"outputs": "html"}, "outputs is text or none, not html"),
        ({"cap": 0}, "from 1, not 0"),
    ],
)
def test_what_cannot_be_meant_is_said(given: Any, message: str) -> None:
    with pytest.raises(NotebookError, match=message):
        stack_from_notebook(notebook(markdown("a")), **given)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"cell_type": st.sampled_from(["code", "markdown", "odd"]), "source": st.text(max_size=5)},
            optional={
                "outputs": st.lists(
                    st.fixed_dictionaries(
                        {"output_type": st.sampled_from(["stream", "error", "display_data"])},
                        optional={
                            "text": anything,
                            "data": st.dictionaries(
                                st.sampled_from(["text/plain", "image/png", "application/json", "x"]), anything
                            ),
                            "traceback": anything,
                            "ename": anything,
                        },
                    ),
                    max_size=2,
                ),
                "attachments": anything,
                "metadata": st.fixed_dictionaries({}, optional={"llmneutral": anything}),
            },
        ),
        max_size=3,
    )
)
def test_no_notebook_makes_it_fail(cells: list[Any]) -> None:
    found = stack_from_notebook(notebook(*cells))
    json.loads(found.to_json())
    assert {message.role for message in found.messages} <= {"user"}
