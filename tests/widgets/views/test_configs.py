"""The table of configs: whether a key is set, and nothing of its value."""

from __future__ import annotations

import pytest

from llmneutral import CONFIGS
from llmneutral_widgets.views.configs import ABOUT, UNLISTED, configs_page, label, lacking, offered, picked_page, remedy
from tests.widgets.closed_set import outside_views

ROW = {"name": "openai", "api_mode": "codex_responses", "model": "gpt-6-luna", "sdk": "openai", "sdk_installed": True}


def test_the_table() -> None:
    rows = [
        {**ROW, "key_variable": "OPENAI_API_KEY", "key_set": True},
        {
            **ROW,
            "name": "google",
            "sdk": "google-genai",
            "sdk_installed": False,
            "extra": "google",
            "key_variable": "GEMINI_API_KEY",
        },
        {**ROW, "name": "local", "model": None, "key_variable": None},
    ]
    output = configs_page(rows, current="openai")
    assert outside_views(output) == []
    assert output.count(">in effect<") == 1
    assert '<b class="tag good">set</b> OPENAI_API_KEY' in output
    assert '<b class="tag warn">not set</b> GEMINI_API_KEY' in output
    assert "google-genai: pip install 'llmneutral[google]'" in output
    assert "no key needed" in output
    assert output.count('scope="row"') == 3


def test_credentials_that_are_no_key() -> None:
    row = {**ROW, "key_variable": "A_TOKEN", "key_words": "Cloud credentials"}
    assert '<b class="tag warn">not found</b> Cloud credentials (or A_TOKEN)' in configs_page([row])
    assert '<b class="tag good">set</b> Cloud credentials</td>' in configs_page([{**row, "key_set": True}])


@pytest.mark.parametrize(
    ("row", "lacks"),
    [
        ({"sdk_installed": False}, "SDK not installed"),
        ({"key_variable": "A_KEY"}, "no key"),
        ({"key_variable": "A_TOKEN", "key_words": "Cloud credentials"}, "no Cloud credentials"),
        ({"problem": "no model: give model=…"}, "no model"),
        ({"problem": "it is not installed (/a/path). Run this"}, "it is not installed"),
        ({"problem": "x" * 70}, "x" * 60 + "…"),
        ({"key_variable": "A_KEY", "key_set": True}, None),
        ({}, None),
    ],
)
def test_what_is_lacking(row: dict[str, object], lacks: str | None) -> None:
    assert lacking({**ROW, **row}) == lacks
    few = lacks if lacks is None or len(lacks) <= 20 else "not ready"
    assert label({**ROW, **row}) == (f"openai ({few})" if few else "openai")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"sdk_installed": False, "extra": "google"}, "openai is not installed: pip install 'llmneutral[google]'"),
        ({"key_variable": "A_KEY"}, "%provider key openai asks for its key, or set A_KEY"),
        (
            {"key_variable": "A_KEY", "in_env_file": True},
            "%provider key --env takes its key from .env, or %provider key openai asks for it, or set A_KEY",
        ),
        ({"key_variable": "A_TOKEN", "key_words": "Cloud credentials"}, "no Cloud credentials"),
        ({"problem": "no model: give model=…"}, "type the name of a model"),
        ({"problem": "no deployment: give deployment=…"}, "type the name of a model"),
        ({"problem": "the program x is not there: install it"}, "the program x is not there: install it"),
    ],
)
def test_what_is_lacking_has_a_remedy(row: dict[str, object], said: str) -> None:
    told = remedy({**ROW, **row})
    assert told is not None
    assert told.startswith("openai cannot answer yet: ")
    assert said in told
    assert remedy(ROW) is None


def test_what_is_offered() -> None:
    rows = [{**ROW, "name": name, "key_variable": "K", "key_set": name in "bd"} for name in ("a", "b", "replay", "d")]
    assert [row["name"] for row in offered(rows)] == ["b", "d", "a"]
    assert [row["name"] for row in offered(rows, "replay")] == ["b", "d", "a", "replay"]


def test_words_are_about_names_that_there_are() -> None:
    assert {*ABOUT} | UNLISTED <= {*CONFIGS}


def test_a_table_says_what_else_is_missing_and_begins_with_who_can_answer() -> None:
    output = configs_page([{**ROW, "problem": "no model: give model=…"}, {**ROW, "name": "local"}])
    told = "no model: %provider openai/MODEL"
    assert f'<b class="tag warn">not ready</b><span title="{told}"> {told}</span>' in output
    assert output.index("embedded model") < output.index(">openai<")


def test_a_pick_is_one_line_with_the_table_folded_below() -> None:
    output = picked_page([ROW, {**ROW, "name": "local"}], "local", "local · smollm2")
    line, table = output.split("<details>")
    assert "<b>local · smollm2</b> answers" in line
    assert table.startswith("<summary>2 providers, and what each of them lacks</summary>")
    assert "in effect" in table
    assert outside_views(output) == []
