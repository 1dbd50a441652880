"""Names of tools and ids of calls: valid, unique, stable, and looked up, never parsed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import ActionCallMessageContent, ConversionError, Message, TextMessageContent, ToolAction
from llmneutral.convert.names import IdRule, NameRule, ToolNames, digest
from llmneutral.ir.tools import ToolDefinition
from tests.convert.jobs import job, told
from tests.payloads import APIS, made, said, turn

PATTERNS = {
    "chat_completions": r"[a-zA-Z0-9_-]{1,64}",
    "codex_responses": r"[a-zA-Z0-9_-]{1,64}",
    "anthropic_messages": r"[a-zA-Z0-9_-]{1,128}",
}
"""What a native name may be. Sources: types of openai 3 (FunctionDefinition.name), Anthropic's error text."""

ID_PATTERNS = {
    "chat_completions": r"(?s).{1,64}",
    "codex_responses": r"(?!fc_)[A-Za-z0-9_-]{1,64}",
    "anthropic_messages": r"[a-zA-Z0-9_-]+",
}
over_apis = pytest.mark.parametrize("api", APIS)
names = st.text(st.sampled_from("ab_.-1 ö"), min_size=1, max_size=8) | st.sampled_from(["n" * 70, "n" * 64, "n" * 140])
keys = st.tuples(names, st.none() | names)
tool_lists = st.lists(keys, max_size=6, unique=True)
ids = st.text(st.sampled_from("ab_.|:fc 1é"), max_size=6) | st.sampled_from(
    ["x" * 64, "x" * 65, "x" * 80, "fc_a", "fc_"]
)


def definition(key: tuple[str, str | None]) -> ToolDefinition:
    return ToolDefinition(key[0], key[1], parameters={"type": "object", "properties": {}})


# --- names --------------------------------------------------------------------------------------


@over_apis
@given(tool_lists)
def test_native_names_are_valid_and_unique_and_lead_back(api: str, tools: list[tuple[str, str | None]]) -> None:
    found = made(api, "q", tools=[definition(key) for key in tools])
    natives = list(found.names)
    assert len(natives) == len(tools)
    assert all(re.fullmatch(PATTERNS[api], native) for native in natives)
    assert sorted(map(str, found.names.values())) == sorted(map(str, tools))
    for name, path in tools:
        native = found.names.native(name, path)
        assert found.names[native] == (name, path)
        assert ToolAction.from_native_tool_name(native, found.names) == (name, path)


@over_apis
@given(tool_lists, st.randoms())
def test_names_do_not_depend_on_the_order_of_the_tools(api: str, tools: list[Any], random: Any) -> None:
    shuffled = list(tools)
    random.shuffle(shuffled)
    first = made(api, "q", tools=[definition(key) for key in tools])
    second = made(api, "q", tools=[definition(key) for key in shuffled])
    assert dict(first.names) == dict(second.names)


@over_apis
@given(tool_lists, tool_lists)
def test_the_history_never_changes_the_name_of_a_tool(api: str, tools: list[Any], called: list[Any]) -> None:
    calls = [ActionCallMessageContent(f"c{i}", name, path) for i, (name, path) in enumerate(called)]
    offered = [definition(key) for key in tools]
    alone = made(api, "q", tools=offered)
    found = made(api, [turn("user", "q"), turn("assistant", "a", *calls), turn("user", "x")], tools=offered)
    assert {native: found.names[native] for native in alone.names} == dict(alone.names)
    sent = [event[3] for event in said(api, found.to_json()) if event[1] == "call"]
    assert sent == [found.names.native(*key) for key in called]
    assert all(re.fullmatch(PATTERNS[api], native) for native in sent)


@over_apis
@pytest.mark.parametrize(
    ("given_name", "native"),
    [
        ("look", "look"),
        ("files.read", "files_read"),
        ("a b", "a_b"),
        ("größe", "gr__e"),
        ("-x", "-x"),
        ("1st", "1st"),
        ("a\ud83db", "a_b"),
    ],
)
def test_illegal_characters_become_underscores(api: str, given_name: str, native: str) -> None:
    found = made(api, "q", tools=[definition((given_name, None))])
    assert list(found.names) == [native]
    (tool,) = found.to_json()["tools"]
    assert tool.get("function", tool)["name"] == native
    renamed = [change for change in found.changes if change.kind == "renamed"]
    assert [repr(given_name) in change.why for change in renamed] == ([True] if native != given_name else [])


@over_apis
def test_a_name_that_cannot_be_written_has_one_that_can(api: str) -> None:
    call = ActionCallMessageContent("c", "a\ud83db")
    found = made(
        api,
        [turn("user", "q"), turn("assistant", call), turn("user", "x")],
        tools=[definition(("a\ud83db", None))],
        tool_choice="a\ud83db",
    )
    chosen = found.to_json()["tool_choice"]
    assert chosen.get("function", chosen)["name"] == "a_b"
    assert said(api, found.to_json())[1][3] == "a_b"
    assert found.names["a_b"] == ("a\ud83db", None)


def test_a_first_character_that_may_not_stand_there_gets_an_underscore() -> None:
    rule = NameRule(illegal=r"[^A-Za-z0-9_.:-]", first=r"[A-Za-z_]", longest=127)  # Gemini's
    made_job = job(tools=[definition(("1st", None)), definition(("-x", None)), definition(("a.b:c-d", None))])
    _, found = rule.table(made_job)
    assert dict(found) == {"a.b:c-d": ("a.b:c-d", None), "_-x": ("-x", None), "_1st": ("1st", None)}


def test_too_long_names_are_cut_and_hashed() -> None:
    found = made("chat_completions", "q", tools=[definition(("n" * 70, None))])
    assert list(found.names) == [f"{'n' * 55}_{digest('n' * 70, 8)}"]


def test_the_fact_tool_name_max_counts() -> None:
    found = made("anthropic_messages", "q", tools=[definition(("n" * 100, None))], facts={"tool_name_max": 64})
    assert [len(native) for native in found.names] == [64]


def test_valid_names_keep_their_spelling_and_others_give_way() -> None:
    found = made("chat_completions", "q", tools=[definition((name, None)) for name in ("a b", "a_b", "a.b")])
    assert found.names.native("a_b") == "a_b"
    assert found.names.native("a b") == f"a_b_{digest('a b', 8)}"
    assert found.names.native("a.b") == f"a_b_{digest('a.b', 8)}"


def test_three_tools_of_one_flat_name_have_three_names() -> None:
    found = made("chat_completions", "q", tools=[definition(k) for k in [("a_b", "c"), ("a", "b_c"), ("a_b_c", None)]])
    assert len(set(found.names)) == 3
    assert found.names.native("a_b_c") == "a_b_c"


def test_reserved_names_are_not_given_away() -> None:
    found = made("codex_responses", "q", tools=[definition(("web_search", None))], provider="xai", model="grok-4.3")
    assert list(found.names) == [f"web_search_{digest('web_search', 8)}"]


@over_apis
@pytest.mark.parametrize(
    ("tool", "called"),
    [
        (("files", "read"), ("files_read", None)),
        (("files_read", None), ("files", "read")),
        (("a.b", None), ("a_b", None)),
    ],
)
def test_one_tool_in_two_spellings_is_one_tool(api: str, tool: Any, called: Any) -> None:
    """History in OpenAI's format knows the flat name only; an answer may have been kept under the native one."""
    history = [turn("user", "q"), turn("assistant", ActionCallMessageContent("c", *called)), turn("user", "x")]
    found = made(api, history, tools=[definition(tool)])
    (native,) = found.names
    assert found.names[native] == tool
    assert [event[3] for event in said(api, found.to_json()) if event[1] == "call"] == [native]


@over_apis
def test_tool_choice_goes_by_the_native_name(api: str) -> None:
    for choice in ("files.read", {"type": "function", "function": {"name": "files.read"}}):
        found = made(api, "q", tools=[definition(("files.read", None))], tool_choice=choice)
        chosen = found.to_json()["tool_choice"]
        assert (chosen.get("function") or chosen)["name"] == "files_read"


@over_apis
def test_the_same_definition_twice_is_sent_once(api: str) -> None:
    found = made(api, "q", tools=[definition(("look", None))] * 2)
    assert len(found.to_json()["tools"]) == 1
    assert [(change.kind, "'look'" in change.why) for change in found.changes] == [("dropped", True)]


@over_apis
def test_two_definitions_of_one_name_are_refused_or_the_first_one_wins(api: str) -> None:
    tools = [ToolDefinition("look", description="a"), ToolDefinition("look", description="b")]
    with pytest.raises(ConversionError, match=r"'look'.*duplicate_tools"):
        made(api, "q", tools=tools)
    found = made(api, "q", tools=tools, duplicate_tools="first")
    sent = found.to_json()["tools"]
    assert [(tool.get("function") or tool)["description"] for tool in sent] == ["a"]
    assert [change.kind for change in found.changes] == ["dropped"]


def test_two_tools_of_a_provider_may_have_one_name() -> None:
    servers = [ToolDefinition("mcp", native={"type": "mcp", "server_label": label}) for label in "ab"]
    tools, table = NameRule().table(job(tools=servers))
    assert len(tools) == 2
    assert len(table) == 0


def test_an_unknown_name_stays_as_it_is() -> None:
    table = ToolNames()
    assert ToolAction.from_native_tool_name("files_read", table) == ("files_read", None)
    assert table.native("files", "read") == "files_read"


def test_without_a_table_the_name_is_split_at_the_first_underscore() -> None:
    assert ToolAction.from_native_tool_name("files_read_all") == ("files", "read_all")
    assert ToolAction.from_native_tool_name("look") == ("look", None)


def test_arguments_come_back_as_the_caller_has_them() -> None:
    table = ToolNames()
    assert table.restored("look", {"a": None}) == {"a": None}
    table.renamed["look"] = {"a_b": "a b"}
    assert table.restored("look", {"a_b": [{"a_b": 1}]}) == {"a b": [{"a b": 1}]}
    table.strict["look"] = {"type": "object", "properties": {"a b": {"type": "string"}, "c": {"type": "string"}}}
    assert table.restored("look", {"a_b": "x", "c": None}) == {"a b": "x"}
    assert table.restored("look", same := {"c": "x"}) is same


# --- ids ----------------------------------------------------------------------------------------

ANTHROPIC, RESPONSES = IdRule(illegal=r"[^a-zA-Z0-9_-]"), IdRule(r"[^A-Za-z0-9_-]", 64, ("fc_", "call_"))
MISTRAL = r"[a-zA-Z0-9]{9}"


@pytest.mark.parametrize(
    ("rule", "original", "new"),
    [
        (ANTHROPIC, "toolu_01-A", "toolu_01-A"),
        (ANTHROPIC, "call.1:x", "call_1_x"),
        (ANTHROPIC, "größe", "gr__e"),
        (ANTHROPIC, "  a ", "a"),
        (ANTHROPIC, "", "tool_3"),
        (ANTHROPIC, "fc_9", "fc_9"),
        (ANTHROPIC, "x" * 200, "x" * 200),
        (RESPONSES, "fc_9", "call_9"),
        (RESPONSES, "x" * 64, "x" * 64),
        (RESPONSES, "x" * 65, f"call_{digest('x' * 65, 32)}"),
        (IdRule(), "any|thing", "any|thing"),
    ],
)
def test_an_id_is_kept_or_mapped(rule: IdRule, original: str, new: str) -> None:
    assert rule.mapped(original, 3, set(), 0, None) == new


def test_a_taken_id_gets_a_hash_and_a_repeated_one_a_number() -> None:
    assert ANTHROPIC.mapped("a.b", 0, {"a_b"}, 0, None).startswith("a_b_")
    assert len(ANTHROPIC.mapped("a.b", 0, {"a_b"}, 0, None)) == len("a_b_") + 8
    assert [ANTHROPIC.mapped("a", 0, {"a"}, again, None) for again in (1, 2)] == ["a_2", "a_3"]
    assert len(RESPONSES.mapped("x" * 64, 0, set(), 1, None)) <= 64


def test_ids_of_a_fixed_length() -> None:
    rule = IdRule()
    assert rule.mapped("abcdefghi", 0, set(), 0, MISTRAL) == "abcdefghi"
    first = rule.mapped("call_1", 0, set(), 0, MISTRAL)
    assert re.fullmatch(MISTRAL, first)
    assert first == rule.mapped("call_1", 5, set(), 0, MISTRAL)
    assert first != rule.mapped("call_1", 0, {first}, 0, MISTRAL)
    assert first != rule.mapped("call_1", 0, set(), 1, MISTRAL)


@given(st.lists(ids, max_size=5))
def test_what_is_valid_is_kept_by_every_rule(given_ids: list[str]) -> None:
    for rule, fact in ((ANTHROPIC, None), (RESPONSES, None), (IdRule(longest=64), None), (IdRule(), MISTRAL)):
        for original in given_ids:
            if original.strip() == original and original and rule.valid([original], fact):
                assert rule.mapped(original, 0, set(), 0, fact) == original


@over_apis
@given(st.lists(st.lists(ids, min_size=1, max_size=3), min_size=1, max_size=4))
def test_ids_are_unique_and_valid_and_the_same_for_call_and_result(api: str, turns: list[list[str]]) -> None:
    history = [Message("user", (TextMessageContent("q"),))]
    for tags in turns:
        calls = [ActionCallMessageContent(tag, "look", input={"n": n}) for n, tag in enumerate(tags)]
        history.append(turn("assistant", "a", *calls))
    history.append(turn("user", "x"))
    sent = said(api, made(api, history).to_json())
    called = [event[2] for event in sent if event[1] == "call"]
    answered = [event[2] for event in sent if event[1] == "result"]
    assert len(set(called)) == len(called) == sum(map(len, turns))
    assert answered == called
    assert all(re.fullmatch(ID_PATTERNS[api], tag) for tag in called)


@over_apis
@given(st.lists(st.lists(ids, min_size=1, max_size=3), min_size=2, max_size=4))
def test_a_later_id_never_changes_an_earlier_one(api: str, turns: list[list[str]]) -> None:
    def called(until: int) -> list[str]:
        history = [turn("user", "q")]
        for tags in turns[:until]:
            calls = [ActionCallMessageContent(tag, "look", input={"n": n}) for n, tag in enumerate(tags)]
            history += [turn("assistant", *calls), turn("user", "x")]
        return [event[2] for event in said(api, made(api, history).to_json()) if event[1] == "call"]

    whole = called(len(turns))
    for until in range(1, len(turns)):
        assert whole[: sum(map(len, turns[:until]))] == called(until)


@over_apis
def test_a_renamed_id_is_one_change(api: str) -> None:
    history = [turn("user", "q"), turn("assistant", ActionCallMessageContent("x" * 300, "look")), turn("user", "x")]
    found = made(api, history)
    renamed = [change for change in found.changes if change.kind == "renamed"]
    assert len(renamed) == (0 if api == "anthropic_messages" else 1)


def test_a_table_is_told_of() -> None:
    table = ToolNames()
    table.add(("files", "read"), "files_read")
    assert repr(table) == "ToolNames({'files_read': ('files', 'read')})"
    assert table.by_key == {("files", "read"): "files_read"}
    assert told(job()) == []
