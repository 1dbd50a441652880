"""The neutral settings: what each may be, in which form it goes on, and one clear line for what it may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral import ConfigurationError, ConversionError
from llmneutral.convert.settings import SETTINGS, ToolChoice, canonical_settings, unknown_setting

NAN, INF = float("nan"), float("inf")
FORMS: list[tuple[str, Any, Any]] = [
    ("max_tokens", 8.0, 8),
    ("temperature", 0, 0),
    ("temperature", 0.5, 0.5),
    ("top_k", 0, 0),
    ("seed", -3, -3),
    ("seed", 10**400, 10**400),
    ("stop", "END", ["END"]),
    ("stop", ("a", "b"), ["a", "b"]),
    ("n", 1, 1),
    ("reasoning_effort", "none", "none"),
    ("stream", False, False),
    ("logit_bias", {"1": 2}, {"1": 2}),
    ("cache", "auto", "auto"),
    ("tool_choice", "auto", ToolChoice("auto")),
    ("tool_choice", "any", ToolChoice("required")),
    ("tool_choice", "look", ToolChoice("named", ("look",))),
    ("tool_choice", {"type": "function", "function": {"name": "look"}}, ToolChoice("named", ("look",))),
    ("tool_choice", {"type": "function", "name": "look"}, ToolChoice("named", ("look",))),
    ("tool_choice", {"type": "custom", "custom": {"name": "look"}}, ToolChoice("named", ("look",))),
    ("tool_choice", {"name": "look"}, ToolChoice("named", ("look",))),
    (
        "tool_choice",
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"function": {"name": "a"}}]}},
        ToolChoice("allowed", ("a",), force=True),
    ),
    ("tool_choice", {"type": "allowed_tools", "tools": [{"name": "a"}]}, ToolChoice("allowed", ("a",))),
    ("tool_choice", ToolChoice("none"), ToolChoice("none")),
]
WRONG: dict[str, list[Any]] = {
    "max_tokens": [0, -1, True, NAN, INF, "5", 2.5, [5], {}],
    "temperature": [NAN, INF, -INF, True, "1", [1], {}, b"1"],
    "top_p": [NAN, "x"],
    "top_k": [-1, 1.5, True],
    "seed": [1.5, "7", False],
    "stop": [5, [1], [None], b"x", {"a": 1}.values()],
    "n": [0, 2, True, "1"],
    "stream": [0, 1, "yes"],
    "reasoning_effort": ["huge", 3, True, ["high"]],
    "thinking_budget": ["1000", 1.5],
    "logit_bias": [[], "x", {"1": NAN}, {"1": {1, 2}}, {"1": b"x"}],
    "metadata": ["x", {"a": NAN}],
    "extra_body": [[1], {"a": object()}, {"a": {"b": INF}}],
    "response_format": ["json", ["json_object"]],
    "tool_choice": [
        5, "", {}, {"type": "function"}, {"function": {"name": ""}}, [], {"type": "allowed_tools", "tools": []},
        {"type": "allowed_tools", "tools": [{}]},
    ],
    "orphan_calls": ["keep"],
    "orphan_results": [1],
    "late_system": [True],
    "foreign_reasoning": ["keep"],
    "unsupported_media": ["drop"],
    "duplicate_tools": ["last"],
    "strict_conversion": ["yes"],
    "cache": ["always"],
    "structured_output_strategy": ["json"],
    "keep_screenshots": [-1],
    "fetch": ["https://x.test"],
    "service_tier": [1],
}  # fmt: skip


@pytest.mark.parametrize(("name", "given_value", "form"), FORMS)
def test_a_value_in_its_canonical_form(name: str, given_value: Any, form: Any) -> None:
    found = canonical_settings({name: given_value})[name]
    assert found == form
    assert type(found) is type(form)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_value_of_the_wrong_kind(name: str, value: Any) -> None:
    with pytest.raises(ConversionError) as caught:
        canonical_settings({name: value})
    assert str(caught.value).startswith(f"the setting {name} is ")
    assert "has to be" in str(caught.value)
    assert caught.value.rule == f"setting:{name}"
    assert isinstance(caught.value, ConfigurationError)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_long_value_is_shown_shortened() -> None:
    with pytest.raises(ConversionError) as caught:
        canonical_settings({"temperature": "x" * 5000})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", list(SETTINGS))
def test_none_is_unset(name: str) -> None:
    assert canonical_settings({name: None}) == {}


def test_an_empty_list_of_stop_sequences_is_unset() -> None:
    assert canonical_settings({"stop": []}) == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("temprature", "temperature"),
        ("max_completion_tokens", "max_tokens"),
        ("stop_sequences", "stop"),
        ("zzz", "llmneutral.SETTINGS"),
        ("", "llmneutral.SETTINGS"),
    ],
)
def test_an_unknown_name_is_told_with_what_is_near_it(name: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        canonical_settings({"temperature": 1, name: 1})
    assert str(caught.value) == str(unknown_setting(name))
    assert repr(name) in str(caught.value)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


def test_fetch_may_be_a_map() -> None:
    assert canonical_settings({"fetch": {"a": (b"", None)}})["fetch"]("a") == (b"", None)
    assert canonical_settings({"fetch": len})["fetch"] is len


@pytest.mark.parametrize(("name", "setting"), SETTINGS.items())
def test_every_setting_is_described_and_its_default_is_one_it_takes(name: str, setting: Any) -> None:
    assert setting.meaning
    if setting.default is not None:
        assert canonical_settings({name: setting.default}) == {name: setting.default}


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.text(max_size=2))


@pytest.mark.parametrize("name", list(SETTINGS))
@given(values)
def test_any_value_is_taken_or_refused_in_one_line(name: str, value: Any) -> None:
    try:
        found = canonical_settings({name: value})
    except ConversionError as error:
        lines = str(error).splitlines()
    else:
        lines = [""]
        assert canonical_settings(found) == found or name == "fetch"
    assert len(lines) == 1
