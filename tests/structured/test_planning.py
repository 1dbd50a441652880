"""How an answer in a form is asked for, behind each API."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral import ConfigurationError, ConversionError, PromptStack, profile
from llmneutral.convert.settings import ToolChoice
from llmneutral.ir.jsontext import dumps
from llmneutral.structured import ANSWER_TOOL, plans
from llmneutral.structured.planning import TOOL_RULE
from llmneutral.transports import BUILT_IN
from tests.payloads import APIS, body, kinds, made, said, told, turn
from tests.structured.forms import NO_FIELD, SCHEMA, TOOL, City, Town, Village, planned

over_apis = pytest.mark.parametrize("api", APIS)

# --- which strategy -----------------------------------------------------------------------------

NAMED, REQUIRED = ToolChoice("named", (ANSWER_TOOL,)), ToolChoice("required")
ONLY, BOTH = ToolChoice("allowed", (ANSWER_TOOL,)), ToolChoice("allowed", ("look", ANSWER_TOOL))
OFF, AS_TEXT = {"reasoning_effort": "none"}, {"use_native_tools": False}


@pytest.mark.parametrize(
    ("facts", "tools", "settings", "strategy", "choice"),
    [
        ({"native_json_schema": True}, [], {}, "native", None),
        ({"native_json_schema": True}, [TOOL], {}, "native", None),
        ({"native_json_schema": True, "json_with_tools": False}, [TOOL], {}, "tool", REQUIRED),
        ({"native_json_schema": True, "json_with_tools": False}, [], {}, "native", None),
        (NO_FIELD, [], {}, "tool", NAMED),
        (NO_FIELD, [TOOL], {}, "tool", REQUIRED),
        ({**NO_FIELD, "forced_tool_choice": False}, [], {}, "tool", None),
        ({**NO_FIELD, "tool_choice_required": False}, [], {}, "tool", None),
        ({**NO_FIELD, "forced_with_thinking": False}, [], {"reasoning_effort": "high"}, "tool", None),
        ({**NO_FIELD, "forced_with_thinking": False}, [], {"thinking_budget": 2000}, "tool", None),
        ({**NO_FIELD, "forced_with_thinking": False}, [], {"reasoning_effort": "none"}, "tool", NAMED),
        ({**NO_FIELD, "tools": False}, [], {}, "rule", None),
        ({"native_json_schema": True}, [], {"structured_output_strategy": "tool"}, "tool", NAMED),
        ({"native_json_schema": True}, [], {"structured_output_strategy": "rule"}, "rule", None),
        # Native that was asked for is sent, unless it is known that it would not do.
        (NO_FIELD, [], {"structured_output_strategy": "native"}, "tool", NAMED),
        (NO_FIELD, [TOOL], {"structured_output_strategy": "native"}, "tool", REQUIRED),
        (NO_FIELD, [], {**AS_TEXT, "structured_output_strategy": "native"}, "rule", None),
        ({**NO_FIELD, "json_grammar": "llguidance"}, [], {"structured_output_strategy": "native"}, "native", None),
        ({"json_with_tools": False}, [], {"structured_output_strategy": "native"}, "native", None),
        ({"json_with_tools": False}, [TOOL], {"structured_output_strategy": "native"}, "tool", REQUIRED),
        # What thinks where nothing is asked cannot be forced either.
        ({**NO_FIELD, "forced_with_thinking": False, "thinks_by_default": True}, [], {}, "tool", None),
        ({**NO_FIELD, "forced_with_thinking": False, "thinks_by_default": True}, [], OFF, "tool", NAMED),
        ({**NO_FIELD, "forced_with_thinking": False}, [], {"thinking_budget": 0}, "tool", NAMED),
        # Tools as text: their form and that of a native field exclude each other, and nothing can be forced.
        ({"native_json_schema": True}, [TOOL], AS_TEXT, "tool", None),
        ({"native_json_schema": True}, [], AS_TEXT, "native", None),
        (NO_FIELD, [], AS_TEXT, "rule", None),
        ({"native_json_schema": True, "tools": False}, [TOOL], {}, "tool", None),
        ({"native_json_schema": True}, [TOOL], {**AS_TEXT, "structured_output_strategy": "native"}, "tool", None),
        ({"native_json_schema": True}, [TOOL], {**AS_TEXT, "structured_output_strategy": "rule"}, "rule", None),
        # The caller's own word comes before what is known of the model.
        ({**NO_FIELD, "tools": False}, [], {"use_native_tools": True}, "tool", NAMED),
        ({**NO_FIELD, "tools": False}, [TOOL], {"use_native_tools": True}, "tool", REQUIRED),
        ({"native_json_schema": True, "tools": False}, [TOOL], {"use_native_tools": True}, "native", None),
        # The caller's own choice stays, unless the answer could not be given under it.
        (NO_FIELD, [TOOL], {"tool_choice": "auto"}, "tool", None),
        (NO_FIELD, [TOOL], {"tool_choice": "required"}, "tool", None),
        (NO_FIELD, [TOOL], {"tool_choice": "none"}, "tool", NAMED),
        (NO_FIELD, [], {"tool_choice": "none"}, "tool", NAMED),
        ({**NO_FIELD, "forced_tool_choice": False}, [], {"tool_choice": "none"}, "tool", ToolChoice("auto")),
        ({**NO_FIELD, "forced_tool_choice": False}, [TOOL], {"tool_choice": "none"}, "tool", ONLY),
        (NO_FIELD, [TOOL], {"tool_choice": ToolChoice("allowed", ("look",))}, "tool", BOTH),
    ],
)
def test_the_strategy(facts: Any, tools: Any, settings: Any, strategy: str, choice: Any) -> None:
    found = planned(facts=facts, tools=tools, **settings)
    assert (found.strategy, found.tool_choice) == (strategy, choice)
    assert bool(found.passes) is (strategy != "native")


@pytest.mark.parametrize("kind", [SCHEMA, City, Town, Village])
def test_what_a_schema_may_be(kind: Any) -> None:
    found = planned(kind)
    assert found.schema["type"] == "object"
    assert found.name in ("City", "Town", "Village")
    assert found.kind is kind


@pytest.mark.parametrize("kind", [3, "City", [SCHEMA], object()])
def test_what_it_may_not_be(kind: Any) -> None:
    with pytest.raises(ConfigurationError):
        planned(kind)


@pytest.mark.parametrize("root", [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}, {"enum": ["a"]}])
def test_a_root_that_is_no_object_is_wrapped(root: dict[str, Any]) -> None:
    found = planned(root)
    assert found.wrapped
    assert found.schema["required"] == ["value"]
    assert found.schema["properties"]["value"] == root


def test_the_answers_tool_makes_room_for_the_callers() -> None:
    taken = [{"type": "function", "function": {"name": name}} for name in (ANSWER_TOOL, f"{ANSWER_TOOL}_2")]
    found = planned(facts=NO_FIELD, tools=taken)
    assert found.tool == f"{ANSWER_TOOL}_3"


# --- how it is asked for ------------------------------------------------------------------------


@over_apis
def test_the_apis_own_field(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA)
    sent = found.to_json()
    fields = {
        "chat_completions": lambda: sent["response_format"]["json_schema"],
        "codex_responses": lambda: sent["text"]["format"],
        "anthropic_messages": lambda: sent["output_config"]["format"],
    }
    field = fields[api]()
    assert field["schema"]["properties"]["name"] == {"type": "string"}
    assert field.get("name", "City") == "City"
    assert "tools" not in sent
    assert said(api, sent) == [("user", "text", "q")]


@over_apis
def test_a_tool_that_has_to_be_called(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA, structured_output_strategy="tool")
    sent = found.to_json()
    (tool,) = sent["tools"]
    tool = tool.get("function", tool)
    assert tool["name"] == ANSWER_TOOL
    assert (tool.get("parameters") or tool["input_schema"])["properties"] == SCHEMA["properties"]
    assert ANSWER_TOOL in str(sent["tool_choice"])
    assert kinds(found) == ["added"]


@over_apis
def test_beside_the_callers_tools_some_tool_has_to_be_called(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA, structured_output_strategy="tool", tools=[TOOL])
    sent = found.to_json()
    assert [tool.get("function", tool)["name"] for tool in sent["tools"]] == ["look", ANSWER_TOOL]
    assert sent["tool_choice"] in ("required", {"type": "any"})


@over_apis
@pytest.mark.parametrize("more", [{"tool_choice": "auto"}, {"facts": {"forced_tool_choice": False}}])
def test_where_a_call_is_not_forced_words_ask_for_it(api: str, more: dict[str, Any]) -> None:
    found = made(
        api, [turn("system", "be"), turn("user", "q")], output_schema=SCHEMA, structured_output_strategy="tool", **more
    )
    (system,) = [event[2] for event in said(api, found.to_json()) if event[0] == "system"]
    assert system.startswith("be\n\n")
    assert ANSWER_TOOL in system
    assert kinds(found) == ["added", "added"]


@over_apis
def test_a_rule_in_the_instructions(api: str) -> None:
    found = made(api, "q", output_schema=SCHEMA, structured_output_strategy="rule")
    system, question = said(api, found.to_json())
    assert system[:2] == ("system", "text")
    assert dumps(SCHEMA) in system[2]
    assert question == ("user", "text", "q")
    assert kinds(found) == ["added"]
    longer = made(
        api, [turn("system", "be"), turn("user", "q")], output_schema=SCHEMA, structured_output_strategy="rule"
    )
    assert said(api, longer.to_json())[0][2].startswith("be\n\n")


@over_apis
def test_nothing_of_the_callers_is_touched(api: str) -> None:
    stack = llmneutral.PromptStack([turn("system", "be"), turn("user", "q")], tools=[TOOL], output_schema=SCHEMA)
    before = stack.to_json()
    for strategy in ("native", "tool", "rule"):
        first = body(api, stack, structured_output_strategy=strategy)
        assert body(api, stack, structured_output_strategy=strategy) == first
    assert stack.to_json() == before


@pytest.mark.parametrize("api", BUILT_IN)
def test_native_that_a_model_cannot_take_is_told_on_every_api(api: str) -> None:
    asked: dict[str, Any] = {"output_schema": SCHEMA, "structured_output_strategy": "native", "max_tokens": 50}
    by_tool = llmneutral.convert("q", api, facts=NO_FIELD, **asked)
    assert ANSWER_TOOL in dumps(by_tool.to_json())
    assert by_tool.answer.strategy == "tool"
    ruled = llmneutral.convert("q", api, facts={**NO_FIELD, "tools": False}, **asked)
    assert TOOL_RULE not in dumps(ruled.to_json())
    assert ruled.answer.strategy == "rule"
    for found in (by_tool, ruled):
        said = [change.why for change in found.changes if change.kind == "coerced"]
        assert said[0].startswith("output_schema: no field holds this model to a schema")
    taken = llmneutral.convert("q", api, facts={"native_json_schema": True}, **asked)
    assert taken.answer.strategy == "native"
    assert not [change for change in taken.changes if "no field holds" in change.why]


@pytest.mark.parametrize(
    ("api", "model", "strategy"),
    [
        ("anthropic_messages", "claude-sonnet-4-20250514", "tool"),
        ("bedrock_converse", "anthropic.claude-3-7-sonnet-20250219-v1:0", "tool"),
        ("anthropic_messages", "claude-sonnet-4-5", "native"),
        ("codex_responses", "gpt-4", "tool"),
        ("chat_completions", "gpt-3.5-turbo", "tool"),
        # Nothing is known of these: the caller's word counts.
        ("anthropic_messages", "somebodys-model", "native"),
        ("bedrock_converse", "somebodys.model", "native"),
    ],
)
def test_the_callers_native_counts_where_nothing_else_is_known(api: str, model: str, strategy: str) -> None:
    asked: dict[str, Any] = {"output_schema": SCHEMA, "structured_output_strategy": "native", "max_tokens": 50}
    assert llmneutral.convert("q", api, model=model, **asked).answer.strategy == strategy


def test_a_strategy_that_cannot_be_is_changed_and_that_is_said() -> None:
    found = made(
        "chat_completions", "q", tools=[TOOL], output_schema=SCHEMA, use_native_tools=False,
        structured_output_strategy="native",
    )  # fmt: skip
    assert "response_format" not in found.to_json()
    assert any("native would forbid" in change.why for change in told(found, "coerced"))
    assert found.answer.tool == ANSWER_TOOL


# --- where the best way cannot carry the schema -------------------------------------------------

TREE = {
    "type": "object",
    "properties": {"value": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["value"],
}
OPEN = {"type": "object", "properties": {"by_name": {"type": "object", "additionalProperties": {"type": "integer"}}}}
UNTYPED = {"type": "object", "properties": {"any": {}}}
CLAUDE = {"model": "claude-opus-4-8", "max_tokens": 500}
BEHIND = [
    ("anthropic_messages", CLAUDE),
    ("bedrock_converse", {"model": "anthropic.claude-opus-4-5-20251101-v1:0", "facts": {"native_json_schema": True}}),
]


@pytest.mark.parametrize(("api", "more"), BEHIND)
@pytest.mark.parametrize("schema", [TREE, OPEN, UNTYPED])
def test_auto_takes_the_next_way_and_says_so(api: str, more: dict[str, Any], schema: dict[str, Any]) -> None:
    plain = llmneutral.convert("q", api, output_schema=SCHEMA, **more)
    assert plain.answer.strategy == "native"
    found = llmneutral.convert("q", api, output_schema=schema, **more)
    assert found.answer.strategy == "tool"
    assert ANSWER_TOOL in dumps(found.to_json())
    (why,) = [change.why for change in found.changes if "native cannot carry it" in change.why]
    assert why.startswith("output_schema: ")
    assert found.to_json() == llmneutral.convert("q", api, output_schema=schema, **more).to_json()


@pytest.mark.parametrize(("api", "more"), BEHIND)
@pytest.mark.parametrize("schema", [TREE, OPEN, UNTYPED])
def test_native_that_was_asked_for_stays_an_error_with_a_remedy(
    api: str, more: dict[str, Any], schema: dict[str, Any]
) -> None:
    with pytest.raises(ConversionError, match=r"the output schema: .*structured_output_strategy='tool'"):
        llmneutral.convert("q", api, output_schema=schema, structured_output_strategy="native", **more)


def test_what_no_field_and_no_tool_can_carry_goes_as_a_rule() -> None:
    facts = {"parameters_json_schema": False, "native_json_schema": True}
    found = llmneutral.convert("q", "gemini_native", model="gemini-2.5-pro", output_schema=TREE, facts=facts)
    assert found.answer.strategy == "rule"
    assert len([change for change in found.changes if "cannot carry it" in change.why]) == 2
    assert dumps(TREE) in dumps(found.to_json()).replace('\\"', '"')


def test_definitions_that_fan_out_too_far_are_asked_for_by_a_rule() -> None:
    def level(n: int) -> dict[str, Any]:
        below = {"type": "string"} if n == 0 else {"$ref": f"#/$defs/d{n - 1}"}
        return {"type": "object", "properties": dict.fromkeys("abcd", below)}

    wide = {**level(7), "$defs": {f"d{n}": level(n) for n in range(7)}}
    facts = {"parameters_json_schema": False, "native_json_schema": True}
    found = llmneutral.convert("q", "gemini_native", model="gemini-2.5-pro", output_schema=wide, facts=facts)
    assert found.answer.strategy == "rule"
    with pytest.raises(ConversionError, match="too large without references"):
        llmneutral.convert(
            "q", "gemini_native", model="gemini-2.5-pro", output_schema=wide, facts=facts,
            structured_output_strategy="native",
        )  # fmt: skip


@pytest.mark.parametrize("schema", [{"type": "sting"}, {"$ref": "#/$defs/none"}])
def test_a_schema_that_is_wrong_is_an_error_and_no_rule(schema: dict[str, Any]) -> None:
    wrong = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(ConversionError, match="schema"):
        llmneutral.convert("q", "anthropic_messages", output_schema=wrong, **CLAUDE)


def test_a_tool_of_the_callers_that_cannot_be_sent_is_no_reason_to_ask_otherwise() -> None:
    facts = {"parameters_json_schema": False, "native_json_schema": True, "json_with_tools": True}
    tool = {"type": "function", "function": {"name": "look", "parameters": TREE}}
    with pytest.raises(ConversionError, match="the tool 'look'"):
        llmneutral.convert(
            "q", "gemini_native", model="gemini-2.5-pro", output_schema=SCHEMA, tools=[tool], facts=facts
        )


# --- roots and names ----------------------------------------------------------------------------


@pytest.mark.parametrize("root", [list[int], int, {"enum": ["a", "b"]}])
@pytest.mark.parametrize("json_schema", [True, False])
def test_gemini_takes_any_root_as_it_is(root: Any, json_schema: bool) -> None:
    facts = {"parameters_json_schema": json_schema}
    found = llmneutral.convert("q", "gemini_native", model="gemini-2.5-pro", output_schema=root, facts=facts)
    assert not found.answer.wrapped
    config = found.to_json()["generationConfig"]
    sent = config["responseJsonSchema" if json_schema else "responseSchema"]
    assert "value" not in sent.get("properties", {})
    by_tool = llmneutral.convert(
        "q", "gemini_native", model="gemini-2.5-pro", output_schema=root, structured_output_strategy="tool"
    )
    assert by_tool.answer.wrapped


ODD = {"type": "object", "properties": {"größe (m)": {"type": "integer"}}, "required": ["größe (m)"]}


@pytest.mark.parametrize("strategy", ["native", "tool"])
def test_renamed_properties_of_an_answer_get_their_names_back(strategy: str) -> None:
    found = llmneutral.convert(
        "q", "gemini_native", model="gemini-2.5-pro", output_schema=ODD, facts={"parameters_json_schema": False},
        structured_output_strategy=strategy,
    )  # fmt: skip
    assert '"größe (m)":' not in dumps(found.to_json())
    renamed = found.answer.renamed if strategy == "native" else found.names.renamed[ANSWER_TOOL]
    (sent,) = renamed
    value = {sent: 3}
    part = {"text": dumps(value)} if strategy == "native" else {"functionCall": {"name": ANSWER_TOOL, "args": value}}
    wire = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    assert llmneutral.normalize(wire, "gemini_native", names=found).parsed == {"größe (m)": 3}


# --- a driver that makes its own requests -------------------------------------------------------


def test_a_stack_as_such_a_driver_is_given_it() -> None:
    stack = PromptStack([turn("system", "be"), turn("user", "q")], tools=[TOOL], output_schema=City)
    before = stack.to_json()
    assert planned(City).applied(stack) is stack
    rule = planned(City, structured_output_strategy="rule").applied(stack)
    assert rule.messages[0].to_text().startswith("be\n\nAnswer with JSON only")
    assert (rule.output_schema, len(rule.tools)) == (None, 1)
    tool = planned(City, tools=[TOOL], facts=NO_FIELD).applied(stack)
    assert [t["function"]["name"] if isinstance(t, dict) else t.name for t in tool.tools] == ["look", ANSWER_TOOL]
    assert tool.settings["tool_choice"] == REQUIRED
    unforced = planned(City, facts={**NO_FIELD, "forced_tool_choice": False}).applied(stack)
    assert unforced.messages[0].to_text() == f"be\n\n{TOOL_RULE}{ANSWER_TOOL}."
    assert stack.to_json() == before


# --- purity -------------------------------------------------------------------------------------


@given(
    st.sampled_from(["auto", "native", "tool", "rule"]),
    st.sampled_from([SCHEMA, City, Town, list[int], TREE, OPEN]),
    st.lists(st.sampled_from([ANSWER_TOOL, f"{ANSWER_TOOL}_2", "look"]), unique=True),
    st.sampled_from(APIS),
)
def test_a_plan_touches_nothing_and_is_always_the_same(strategy: str, schema: Any, names: list[str], api: str) -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]
    stack = PromptStack([turn("system", "be"), turn("user", "q")], tools=tools, output_schema=schema)
    before = stack.to_json()

    def ask() -> Any:
        try:
            return made(api, stack, structured_output_strategy=strategy).to_json()
        except ConversionError as error:
            return str(error)

    first = ask()
    assert ask() == first
    assert stack.to_json() == before
    if isinstance(first, dict):
        sent = [(tool.get("function") or tool)["name"] for tool in first.get("tools", ())]
        assert sent[: len(names)] == names


def test_several_ways_only_where_it_is_left_open() -> None:
    facts = profile("anthropic_messages", model="claude-opus-4-8")
    assert [plan.strategy for plan in plans(City, {}, facts, ())] == ["native", "tool", "rule"]
    assert [plan.strategy for plan in plans(City, {"structured_output_strategy": "tool"}, facts, ())] == ["tool"]


@over_apis
@pytest.mark.parametrize("ref", ["https://elsewhere.example/a", "#/$defs/Nowhere", "other.json"])
@pytest.mark.parametrize("strategy", ["auto", "native", "tool", "rule"])
def test_a_form_that_no_answer_could_be_read_by_is_refused_before_anything_is_sent(
    api: str, ref: str, strategy: str
) -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"$ref": "#/$defs/A"}}}, "$defs": {"A": {"$ref": ref}}}
    stack = PromptStack([turn("user", "q")], output_schema=schema)
    with pytest.raises(ConversionError, match="the output schema: the schema refers to") as refused:
        made(api, stack, structured_output_strategy=strategy)
    assert repr(ref) in str(refused.value)
    assert refused.value.hint
