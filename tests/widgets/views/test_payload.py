"""Payloads side by side: every block is found in every column, rendered, changed or lost, and the page stays small."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.bundles import Verdict, column_of
from llmneutral_widgets.scrub import builtin
from llmneutral_widgets.views.page import LIMIT
from llmneutral_widgets.views.payload import FIRST, MOST, Column, compared, comparison, payload_page, rules
from tests.widgets.closed_set import is_well_nested, outside_views
from tests.widgets.samples import PNG, column, conversions, stack


def shown(source: llmneutral.PromptStack | None = None, *more: Column, **given: Any) -> str:
    made = source or stack()
    columns = [column(api, found) for api, found in conversions(made).items()]
    return comparison(builtin(made.messages), [*columns, *more], **given)


def said(markup: str) -> str:
    """Markup without the places that tell what a step does."""
    return re.sub(r'<span title="[^"]*" class="told">(\w+)</span>', r"\1", markup)


def body(output: str) -> list[str]:
    """The rows of the body."""
    return re.findall(r"<tr>(.*?)</tr>", output.partition("<tbody>")[2], re.DOTALL)


def cells(row: str) -> list[str]:
    """The cells of a row, without the spans that say how a line of JSON is broken."""
    found = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
    return [
        re.sub(r"(<pre[^>]*>)(.*?)(</pre>)", lambda m: m[1] + _plain_lines(m[2]) + m[3], cell, flags=re.DOTALL)
        for cell in found
    ]


def _plain_lines(pre: str) -> str:
    return re.sub(r"</?span[^>]*>", "", pre)


def row_of(output: str, heading: str) -> list[str]:
    return next(cells(row) for row in body(output) if f"<b>{heading}</b>" in row)


def test_merged_turns_stand_in_one_row() -> None:
    neutral, chat, anthropic = row_of(shown(), "1 user")
    assert "<b>2 user</b>" in neutral
    assert chat.count('"role": "user"') == 2
    assert anthropic.count('"role": "user"') == 1
    for label in ("1.0", "1.1", "2.0"):
        assert all(f">{label}</small>" in cell for cell in (neutral, chat, anthropic))


def test_every_block_is_in_every_column() -> None:
    """By its label: rendered, or as lost, which is the conservation law as a reader sees it."""
    output = shown()
    for number, message in enumerate(stack().messages):
        for block in range(len(message.content)):
            row = next(cells(row) for row in body(output) if f">{number}.{block}</small>" in cells(row)[0])
            assert all(re.search(rf"\b{number}\.{block}\b", cell) for cell in row)


def test_a_lost_block_says_why() -> None:
    _, chat, anthropic = row_of(shown(), "3 assistant")
    assert "<del>thinking: I should call the tool.</del>" in chat
    assert re.search(r"<small>dropped by \w+: ", said(chat))
    assert "<del>" not in anthropic


def test_far_below_the_head_each_cell_says_whose_it_is() -> None:
    output = shown(tools=[{"type": "function", "function": {"name": "weather"}}])
    for heading, named in (("settings", False), ("1 user", False), ("3 assistant", True), ("tools", True)):
        _, chat, anthropic = row_of(output, heading)
        assert ("<small>chat_completions</small>" in chat) is named
        assert ("<small>anthropic_messages</small>" in anthropic) is named
    short = shown(llmneutral.PromptStack.from_openai([{"role": "user", "content": "hi"}]))
    assert "<small>chat_completions</small>" not in short


def test_what_is_lost_stands_where_it_would_have_stood() -> None:
    """Before what follows it: a thought that is crossed out below the answer would seem to come after it."""
    _, chat, _ = row_of(shown(), "3 assistant")
    assert chat.index("<del>thinking") < chat.index("Let me look.")
    late = Column(api="x", payload={"messages": [{"role": "user"}]}, trace={"/messages/0": [(0, 0)]})
    message = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    _, cell = row_of(comparison([message], [late]), "0 user")
    assert cell.index("role") < cell.index("<del>text: b")


def test_changes_stand_under_their_block_with_their_apis() -> None:
    neutral, *_ = row_of(shown(), "1 user")
    assert re.search(r"<mark>merged</mark> for anthropic_messages by merge_same_role: ", said(neutral))


def test_a_change_of_several_apis_is_told_once() -> None:
    change = {"kind": "renamed", "step": "s", "why": "w", "refs": [[0, 0]]}
    columns = [Column(api=api, payload={}, changes=[change]) for api in ("a", "b")]
    output = comparison([{"role": "user", "content": [{"type": "text", "text": "x"}]}], columns)
    neutral = row_of(output, "0 user")[0]
    assert neutral.count('<div class="change">') == 1
    assert "<mark>renamed</mark> for a, b by s: w" in neutral


def test_what_nobody_wrote_is_marked_as_added() -> None:
    source = llmneutral.PromptStack()
    source.add_assistant_message("I begin.")
    source.add_user_message("And I answer.")
    output = shown(source)
    _, chat, anthropic = row_of(output, "0 assistant")
    assert "<ins" in anthropic
    assert "(empty)" in anthropic
    assert "<ins" not in chat


def test_settings_tools_and_form_have_rows() -> None:
    output = shown(settings={"temperature": 0.2}, tools=[{"type": "function", "function": {"name": "weather"}}])
    neutral, chat, anthropic = row_of(output, "settings")
    assert '"temperature": 0.2' in neutral
    assert '"model": "gpt-4.1"' in chat
    assert '"max_tokens"' in anthropic
    neutral, chat, anthropic = row_of(output, "tools")
    assert '<pre>"weather"</pre>' in neutral
    assert '"parameters"' in chat
    assert '"input_schema"' in anthropic
    assert "form of the answer" not in output
    assert "form of the answer" in shown(output_schema={"type": "object"})


def test_an_empty_cell_says_where_the_form_is() -> None:
    schema = {"type": "object"}
    nested = Column(api="x", payload={"generationConfig": {"responseJsonSchema": schema, "responseMimeType": "json"}})
    cells_of = row_of(
        comparison([], [nested, Column(api="y", payload={"a": 1})], output_schema=schema), "form of the answer"
    )
    assert cells_of[1] == "<small>above: generationConfig.responseJsonSchema</small>"
    assert cells_of[2] == "<small>no field of its own: the changes at the head tell how</small>"
    found = llmneutral.convert("hi", "gemini_native", output_schema={**schema, "properties": {}}, trace=True)
    output = comparison([], [column("gemini_native", found)], output_schema=schema)
    assert "above: generationConfig.response" in row_of(output, "form of the answer")[1]


def test_the_head_of_a_column() -> None:
    made = conversions()["anthropic_messages"]
    head = comparison([], [column("anthropic_messages", made, checked="anthropic 2.4 types")]).partition("<tbody>")[0]
    assert "<b>anthropic_messages</b>" in head
    assert "POST /v1/messages" in head
    assert '<b class="tag good">valid (anthropic 2.4 types)</b>' in head
    assert re.search(r"\d changes: .*merged", head)
    assert "not checked" in comparison([], [column("a", made)])


def test_problems_are_marked_where_they_are() -> None:
    problems = [{"path": "messages[0].content[0]", "message": "too long"}, {"path": "/temperature", "message": "high"}]
    payload = {"messages": [{"role": "user", "content": ["a"]}], "temperature": 9}
    one = Column(api="x", payload=payload, trace={"/messages/0": [(0, 0)]}, checked="v", problems=problems)
    output = comparison([{"role": "user", "content": [{"type": "text", "text": "a"}]}], [one])
    assert "2 problems" in output
    assert '<mark>"a"</mark>' in output
    assert '<mark>"temperature": 9</mark>' in output
    assert output.count("<mark>") == 2


def test_a_missing_key_marks_what_it_is_missing_from() -> None:
    problems = [
        {"path": "messages[0].content[0].text", "message": "is required"},
        {"path": "metadata['a.b']", "message": "must be a string", "pointer": "/metadata/a.b"},
        {"path": "model", "message": "is required"},
    ]
    payload = {"messages": [{"role": "user", "content": [{"type": "text"}]}], "metadata": {"a.b": 5}}
    output = payload_page([Column(api="x", payload=payload, checked="v", problems=problems)])
    assert re.findall("<mark>(.*?)</mark>", output) == ["{", '"a.b": 5']
    assert "3 problems" in output


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (Column(api="x", payload={}, unchecked="SDK not installed"), "not checked (SDK not installed)"),
        (Column(api="x", payload={}), "not checked"),
        (Column(api="x", payload={}, checked="openai 3.57 types"), "valid (openai 3.57 types)"),
    ],
)
def test_the_verdict(column: Column, said: str) -> None:
    assert f">{said}</b>" in comparison([], [column])


def test_an_error_is_one_column_and_the_others_stay() -> None:
    error = Column(
        api="cohere_chat", error={"name": "ConversionError", "rule": "media", "message": "no", "refs": [[1, 1]]}
    )
    output = shown(None, error)
    assert '<b class="tag bad">ConversionError</b>' in output
    *_, cell = row_of(output, "1 user")
    assert "<del>image: image/png" in cell
    assert "refused by media" in said(cell)
    assert row_of(output, "3 assistant")[-1] == ""
    assert "tool_use" in row_of(output, "3 assistant")[2]


def test_the_sentence_of_a_refusal_stands_once() -> None:
    source = llmneutral.PromptStack()
    source.add_user_message(llmneutral.ImageMessageContent(PNG, media_type="image/png"))
    with pytest.raises(llmneutral.ConversionError) as caught:
        llmneutral.convert(source, "cohere_chat", model="command-a-03-2025")
    refused = column_of("cohere_chat", caught.value, Verdict())
    output = comparison(builtin(source.messages), [refused, Column(api="other", payload={})])
    assert re.sub(r"<[^>]+>|&#?\w+;", "'", output).count(caught.value.message) == 1
    neutral, cell, _ = row_of(output, "0 user")
    assert "<mark>refused</mark> for cohere_chat by media</div>" in said(neutral)
    assert "refused by media" in said(cell)


def test_other_changes_of_a_refused_column_are_still_told() -> None:
    error = {"name": "ConversionError", "rule": "media", "message": "no", "refs": [[1, 1]]}
    changes = [
        {"kind": "refused", "step": "media", "why": "no", "refs": [[1, 1]]},
        {"kind": "dropped", "step": "s", "why": "blank", "refs": [[0, 0]]},
    ]
    head = shown(None, Column(api="cohere_chat", error=error, changes=changes)).rpartition("<thead>")[2]
    assert "1 change: 1 dropped" in head.partition("<tbody>")[0]


LIFTED = {
    "codex_responses": '"instructions": "be brief\\n\\nbe kind"',
    "anthropic_messages": '"system": [',
    "bedrock_converse": '"system": [',
    "gemini_native": '"systemInstruction": {',
}


@pytest.mark.parametrize(("api", "written"), LIFTED.items())
def test_lifted_instructions_stand_under_their_key(api: str, written: str) -> None:
    source = llmneutral.PromptStack()
    source.add_system_message("be brief")
    source.add_system_message("be kind")
    source.add_user_message("hi")
    found = llmneutral.convert(source, api, trace=True)
    output = html.unescape(comparison(builtin(source.messages), [column(api, found)]))
    told = [cell for row in body(output) for cell in cells(row)[1:] if "be " in cell]
    assert all(written in cell for cell in told)
    assert ["…" in cell for cell in told] == ([True, True] if written.endswith("[") else [False])


def test_entries_of_a_list_are_joined() -> None:
    payload = {"system": [{"text": "a"}, {"text": "b"}], "messages": [{"role": "user", "content": "c"}]}
    trace = {"/system/0": [(0, 0)], "/system/1": [(0, 1)], "/messages/0": [(1, 0)]}
    source = [
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": [{"type": "text", "text": "c"}]},
    ]
    output = html.unescape(comparison(source, [Column(api="x", payload=payload, trace=trace)]))
    assert written(row_of(output, "0 system")[1]) == '"system":[{"text":"a"},{"text":"b"}]'
    assert written(row_of(output, "1 user")[1]) == '"messages":[{"role":"user","content":"c"}]'


def written(cell: str) -> str:
    """The JSON of a cell, without labels, and without blanks."""
    bare = html.unescape(re.sub(r"<[^>]+>", "\n", re.sub(r"<small[^>]*>.*?</small>", "", cell)))
    return "".join(bare.split())


@pytest.mark.parametrize("api", ["chat_completions", "codex_responses", "anthropic_messages", "gemini_native",
                                 "bedrock_converse", "cohere_chat", "mistral_chat"])  # fmt: skip
def test_a_column_read_from_top_to_bottom_is_the_payload(api: str) -> None:
    """Every key stands in it, that of the messages too; only the order of the parts is the conversation's."""
    source = llmneutral.PromptStack(settings={"temperature": 0.2})
    source.add_system_message("be brief")
    source.add_user_message("one")
    source.add_assistant_message("two")
    source.add_user_message("three")
    found = column(api, llmneutral.convert(source, api, trace=True))
    output = comparison(builtin(source.messages), [found], settings={"temperature": 0.2})
    read = [written(cells(row)[1]) for row in body(output)]
    parts = [part for part in read if part]
    text = parts[0]
    for one in parts[1:]:
        text += ("" if text.endswith((",", "[")) else ",") + one
    assert found.payload is not None
    assert json.loads(re.sub(r'(?<=[\]}"\d])(?="\w+":)', ",", "{" + text + "}")) == json.loads(
        json.dumps(found.payload).replace(" ", "")
    )


def test_a_badge_says_which_columns_it_is_about() -> None:
    neutral, *_ = row_of(shown(), "1 user")
    assert '<mark title="for anthropic_messages">merged: anthropic_messages</mark>' in neutral
    change = {"kind": "renamed", "step": "s", "why": "w", "refs": [[0, 0]]}
    message = {"role": "user", "content": [{"type": "text", "text": "x"}]}

    def flag(*changed: bool) -> str:
        columns = [Column(api=f"a{n}", payload={}, changes=[change] * each) for n, each in enumerate(changed)]
        found = re.search(r"<mark title=[^>]*>(.*?)</mark>", row_of(comparison([message], columns), "0 user")[0])
        return found[1] if found else ""

    assert flag(True) == "renamed"
    assert flag(True, False) == "renamed: a0"
    assert flag(True, True) == "renamed: all"
    assert flag(True, False, True) == "renamed: 2 of 3"


def test_of_a_block_that_is_sent_only_a_part_can_be_dropped() -> None:
    """Its cache mark, say: what is crossed out in one column may stand in the next."""
    change = {"kind": "dropped", "step": "marks", "why": "it has no such mark", "refs": [[0, 0]]}
    refused = {**change, "kind": "refused"}
    payload = {"contents": ["x"]}
    kept = Column(api="kept", payload=payload, trace={"/contents/0": [[0, 0]]}, changes=[change])
    gone = Column(api="gone", payload={"contents": []}, changes=[change])
    none = Column(api="none", error={"message": "no", "refs": [[0, 0]]}, changes=[refused])
    message = {"role": "user", "content": [{"type": "text", "text": "x", "cache": True}]}

    def badges(*columns: Column) -> list[str]:
        return re.findall(r"<mark title=[^>]*>(.*?)</mark>", row_of(comparison([message], columns), "0 user")[0])

    assert badges(kept) == ["in part dropped"]
    assert badges(gone) == ["dropped"]
    assert badges(kept, gone, none) == ["in part dropped: kept", "dropped: gone", "refused: none"]


def test_a_reader_is_told_what_the_columns_and_their_words_are() -> None:
    head = shown().partition("<thead>")[2].partition("</thead>")[0]
    first = re.findall(r"<th[^>]*>(.*?)</th>", head)[0]
    assert "<b>your conversation</b>" in first
    assert "<summary>how to read this</summary>" in first
    assert "1.0 is message 1, block 0" in first
    assert "<li><mark>merged</mark>: is joined with what stands before it.</li>" in first
    assert re.search(r"<li>by <b>merge_same_role</b>: Joins messages of one speaker[^<]*</li>", first)
    assert "by <b>no_such_step</b>" not in first
    assert "how to read this" in payload_page([column(api, found) for api, found in conversions().items()])
    assert "how to read this" not in payload_page([Column(api="x", payload={})])


def test_every_name_of_a_step_tells_what_it_does() -> None:
    output = shown()
    steps = re.findall(r"</mark>(?: for [\w, ]+)? by (\w+)", said(output))
    assert len({*steps}) >= 3
    for step in steps:
        assert re.search(rf'<span title="[A-Z][^"]+\." class="told">{step}</span>', output)


def test_blocks_and_their_renderings_share_a_class_within_the_row() -> None:
    output = shown()
    for row in body(output):
        neutral, *columns = cells(row)
        for label, name in re.findall(r'class="(k\d+)"><summary><small[^>]*>([\d.]+)<', neutral):
            for cell in columns:
                for classes, said in re.findall(r'<pre class="([^"]+)" title="from ([^"]+)"', cell):
                    assert (label in classes.split()) == (name in said.split(", "))


def test_a_change_at_the_head_leads_to_its_blocks() -> None:
    """A link to a block that is shown; no rule is needed for it but those that light a row."""
    output = shown()
    head = output.partition("<thead>")[2].partition("</thead>")[0]
    links = re.findall(r'<a href="#(ln-[0-9a-f]{8}-(\d+)-(\d+))">([\d.]+)</a>', head)
    assert links
    for name, message, block, label in links:
        assert label == f"{message}.{block}"
        assert output.count(f'id="{name}"') == 1
    assert len({*re.findall(r' id="([^"]+)"', output)}) == output.count(' id="')
    assert shown() == output


def test_a_block_that_is_not_shown_has_a_label_and_no_link() -> None:
    change = {"kind": "renamed", "step": "s", "why": "w", "refs": [[40, 0], [0, 0]]}
    messages = [{"role": "user", "content": [{"type": "text", "text": "x" * 4_000}]} for _ in range(300)]
    output = comparison(messages, [Column(api="a", payload={"b": 1}, changes=[change])])
    assert re.search(r'\(40\.0, <a href="#ln-\w+-0-0">0\.0</a>\)', output)
    assert "-40-0" not in output


def test_a_setting_that_is_left_out_says_so_in_its_row() -> None:
    changes = [
        {"kind": "dropped", "step": "params", "why": "seed: m does not take it", "refs": []},
        {"kind": "dropped", "step": "params", "why": "other: of the call", "refs": []},
        {"kind": "coerced", "step": "params", "why": "top_p: is less", "refs": []},
    ]
    one = Column(api="a", payload={"model": "m"}, changes=changes, model="m")
    output = comparison([], [one, Column(api="b")], settings={"seed": 3, "top_p": 1})
    cell, other = row_of(output, "settings")[1:]
    assert re.findall(r'class="gone"><small>(.*?)</small>', said(cell)) == [
        "dropped by params: seed: m does not take it"
    ]
    assert "gone" not in other
    head = output.partition("<tbody>")[0]
    assert "<small>for m</small>" in head
    assert "Each column is for the model it names" in head


def test_there_are_as_many_rules_as_the_fullest_row_has_blocks() -> None:
    assert shown().count(":has(") == 3
    assert rules(2).count(":has(") == 2
    assert rules(10_000).count(":has(") == 40
    assert rules(0) == ""
    assert ".llmn tr:has(.k1:is(:hover,:focus-within,:target,[open])) .k1{" in rules(1)


def test_long_texts_and_media_are_short() -> None:
    source = llmneutral.PromptStack()
    source.add_user_message(llmneutral.ImageMessageContent(data=PNG, media_type="image/png"))
    source.add_user_message("long " * 1_000)
    output = shown(source)
    pieces = "".join(re.findall(r"<pre.*?</pre>", output, re.DOTALL))
    assert PNG not in pieces
    assert re.search(r"… ?\" \([\d,]+ more\)", pieces)
    assert len(pieces) < 6_000


def long_stack(messages: int) -> llmneutral.PromptStack:
    source = llmneutral.PromptStack()
    for n in range(messages // 2):
        source.add_user_message(f"Question {n}: what is the **meaning** of {n}?")
        source.add_assistant_message(f"Answer {n}. " + "It depends. " * 20)
    return source


def test_a_long_conversation_is_capped() -> None:
    output = shown(long_stack(1_000))
    assert len(output.encode()) <= LIMIT
    assert "<b>0 user</b>" in output
    assert f"<b>{FIRST - 1} user</b>" in output
    assert "<b>999 assistant</b>" in output
    hidden = re.search(r"<small>(\d+) more: %stack --all</small>", output)
    assert hidden is not None
    assert int(hidden[1]) >= 1_000 - MOST
    assert output.count('class="role"') == 1_000 - int(hidden[1]) + 1


@pytest.mark.parametrize("text", ["x" * 5_000, "<>&$" * 2_000, "\n- **a**" * 1_000])
def test_a_row_of_very_many_blocks_stays_within_the_limit(text: str) -> None:
    source = llmneutral.PromptStack()
    for _ in range(300):
        source.add_user_message(text)
    output = shown(source)
    assert len(output.encode()) <= LIMIT
    assert outside_views(output) == []
    assert is_well_nested(output)


def test_no_messages() -> None:
    output = comparison([], [Column(api="a", payload={"model": "m", "messages": []})])
    assert "<b>settings</b>" in output
    assert is_well_nested(output)


def test_without_a_source() -> None:
    output = payload_page([column(api, found) for api, found in conversions().items()])
    assert ">1.1</small>" in output
    assert "your conversation" not in output
    assert outside_views(output) == []
    untraced = llmneutral.convert(stack(), "anthropic_messages", model="claude-sonnet-5-5")
    assert '"role": "user"' in payload_page([column("anthropic_messages", untraced)])


def test_a_table_that_is_wider_than_the_page_says_so_in_words() -> None:
    """A sheet makes its first column stay and gives it a shadow; where it is taken out, the words are left."""
    few = [Column(api=f"api_{n}", payload={}) for n in range(4)]
    said = "where they do not all fit, scroll sideways"
    assert said not in comparison([], few)
    assert f"5 columns: {said}" in comparison([], [*few, few[0]])
    assert f"5 columns: {said}" in payload_page([*few, few[0]])


def test_a_live_view_asks_for_more_rows_and_is_told_how_many_are_left() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": f"message {n}"}]} for n in range(200)]
    shown = compared(messages, [], most=60)
    assert shown.hidden == 140
    assert "140 more<" in shown.html
    assert compared(messages, [], most=200).hidden == 0
    assert "140 more: %stack --all" in comparison(messages, [])


def test_without_messages_and_payloads_there_are_no_rows_of_messages() -> None:
    shown = comparison([], [Column(api="a")], settings={"temperature": 0.2})
    assert shown.count("<tr>") == 2
