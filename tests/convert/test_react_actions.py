"""The calls in an array, and their tags."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmneutral.convert.react.actions import Tags, calls_of, unread
from llmneutral.ir.contents import ActionCallMessageContent, InvalidActionCallMessageContent
from llmneutral.ir.jsontext import dumps

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=10,
)


@given(st.lists(st.tuples(st.text(min_size=1).filter(str.strip), st.dictionaries(st.text(), json_values, max_size=3))))
def test_what_is_written_is_read(calls: list[tuple[str, dict[str, object]]]) -> None:
    text = dumps([{"tag": f"t{i}", "name": name, "input": given} for i, (name, given) in enumerate(calls)])
    found = calls_of(text, Tags())
    assert found is not None
    assert [(x.tag, x.name, x.input, x.arguments) for x in found if isinstance(x, ActionCallMessageContent)] == [
        (f"t{i}", name.strip(), given, dumps(given)) for i, (name, given) in enumerate(calls)
    ]


@given(st.one_of(st.lists(json_values, max_size=4), st.dictionaries(st.text(max_size=5), json_values, max_size=4)))
def test_any_array_or_object_is_calls_each_with_a_tag_of_its_own(value: object) -> None:
    found = calls_of(dumps(value), Tags())
    assert found is not None
    assert len(found) == (len(value) if isinstance(value, list) else 1)
    assert len({call.tag for call in found}) == len(found)


def test_text_that_is_no_json_is_none() -> None:
    assert calls_of("[1,]", Tags()) is None
    assert calls_of("[" * 100_000 + "]" * 100_000, Tags()) is None


def test_an_activity_may_be_named_apart() -> None:
    found = calls_of('{"name": "files", "path": "read", "input": {}}', Tags())
    assert found == [ActionCallMessageContent("a1", "files", "read", {}, "{}")]


def test_no_tag_comes_twice() -> None:
    tags = Tags(["a1", "x"])
    assert [tags.new(each) for each in (None, "a1", "x", "x", " y ", "", 3, True, ["z"], "y")] == [
        "a2", "a3", "x_2", "x_3", "y", "a4", "3", "a5", "a6", "y_2",
    ]  # fmt: skip


def test_what_is_no_array_is_one_invalid_call() -> None:
    assert unread("none", Tags(["a1"])) == InvalidActionCallMessageContent("a2", "Actions", raw="none")
