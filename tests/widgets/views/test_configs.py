"""The table of configs: whether a key is set, and nothing of its value."""

from __future__ import annotations

from llmneutral_widgets.views.configs import configs_page
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
