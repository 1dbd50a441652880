"""Every name of a step has its sentence, and every sentence a step that is in use."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from llmneutral import PromptStack, convert, step_summary
from llmneutral.convert.steps import SUMMARIES
from llmneutral.transports import get_transport, registered
from tests.house.tree import PACKAGES, parsed, python_files

MAKERS = {"Pass": 0, "Change": 0, "move_media": 0}
"""Calls that give a step its name, and as which argument."""
REFUSALS = {"refuse", "ConversionError"}


def texts(*nodes: ast.AST) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)} - {""}


def assigned(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and values, those of `before, note.step = note.step, "x"` one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


def named(node: ast.AST) -> set[str]:
    """The names of steps that a piece of source gives."""
    if isinstance(node, ast.Assign):
        steps = [
            value for target, value in assigned(node) if isinstance(target, ast.Attribute) and target.attr == "step"
        ]
        return texts(*steps)
    if not isinstance(node, ast.Call):
        return set()
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    rules = [word.value for word in node.keywords if word.arg == "rule"] if called in REFUSALS else []
    return texts(*rules, *(node.args[:1] if called in MAKERS else []))


def in_source() -> set[str]:
    files = [file for file in python_files(PACKAGES[0]) if "validation" not in file.parts]
    return {name for file in files for node in ast.walk(parsed(file)) for name in named(node)}


def test_every_step_that_the_source_names_has_its_sentence() -> None:
    found = in_source()
    assert len(found) > 60
    assert found - {*SUMMARIES} == set()


@pytest.mark.parametrize("api", registered())
def test_every_pass_of_a_transport_has_its_sentence(api: str) -> None:
    assert [step.name for step in get_transport(api).passes if step_summary(step.name) is None] == []


def test_no_sentence_is_left_over() -> None:
    passes = {step.name for api in registered() for step in get_transport(api).passes}
    assert {*SUMMARIES} - in_source() - passes - {"schema_limit"} == set()


@pytest.mark.parametrize("name", SUMMARIES)
def test_it_is_a_sentence_that_fits_a_line(name: str) -> None:
    said = SUMMARIES[name]
    assert said[0].isupper()
    assert said.endswith(".")
    assert 20 < len(said) < 105
    assert "_" not in said, "a name does not explain another one"


LOSSES = (
    """params settings reasoning tool_choice own_tools flatten_tools pair_results drop_blank_text foreign_items
    drop_generic_of_others origin_of_reasoning one_reasoning_a_turn reasoning_with_its_item keep_screenshots fill_empty
    limit_cache_marks place_marks marks room_for_format last_turn pad_reasoning tool_names tools input"""
).split()
"""Steps that may leave something out, or say less: gathered from all changes that the tests of conversions make."""
ADMITS = "eave|left out|not at all|as far as|if it takes|eeps|ettles|once|twice|off| go".split("|")


@pytest.mark.parametrize("name", LOSSES)
def test_a_step_that_may_leave_out_says_so(name: str) -> None:
    assert any([word in SUMMARIES[name] for word in [*ADMITS, "as this API takes"]])


def test_of_a_step_that_does_the_one_or_the_other_the_sentence_says_both() -> None:
    source = PromptStack.from_openai([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}])
    kept = convert(source, "anthropic_messages", model="claude-sonnet-4-5").changes
    moved = convert(source, "anthropic_messages", model="claude-sonnet-4-5", late_system="hoist").changes
    assert ("lift_system", "rewritten") in {(change.step, change.kind) for change in kept}
    assert ("lift_system", "moved") in {(change.step, change.kind) for change in moved}
    said = SUMMARIES["lift_system"]
    assert "Moves system text" in said
    assert "leaves a later one where it is" in said


def test_of_what_is_not_ours_nothing_is_known() -> None:
    assert step_summary("the_pass_of_another_package") is None
