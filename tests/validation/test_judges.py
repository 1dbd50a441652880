"""Who judges which API, and that nothing of an SDK is imported before it must judge."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import requires

import pytest

from llmneutral.errors import ConfigurationError
from llmneutral.resolve import API_MODES
from llmneutral.validation import judges
from tests.conftest import ROOT

SDKS = {"anthropic", "botocore", "cohere", "google.genai", "mistralai", "openai"}

LOOK = """
import json, sys, llmneutral
api, payload = json.loads(sys.argv[1])
judge = llmneutral.validator(api).judge
before = sorted(sys.modules)
llmneutral.validate(payload, api)
print(json.dumps([judge, before, sorted(sys.modules)]))
"""


def test_every_api_with_a_payload_has_a_judge() -> None:
    assert {*judges.JUDGES} == {*API_MODES} - {"codex_app_server"}


@pytest.mark.parametrize("api", list(judges.JUDGES))
def test_extras_bring_the_judge(api: str) -> None:
    judge = judges.judge_of(api)
    brought = {"botocore": "boto3"}.get(judge.package, judge.package)
    found = [line for line in requires("llmneutral") or [] if line.startswith(brought)]
    assert any(("extra ==" in line) is (judge.extra is not None) and (judge.extra or "") in line for line in found)


@pytest.mark.parametrize(("api", "sdk"), [("chat_completions", "openai"), ("cohere_chat", "cohere")])
def test_only_the_sdk_that_judges_is_imported(api: str, sdk: str) -> None:
    command = [sys.executable, "-W", "error", "-c", LOOK, json.dumps([api, {"model": "m", "messages": []}])]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    judge, before, after = json.loads(found.stdout)
    assert judge.startswith(f"{sdk} ")
    assert SDKS & {*before} == set()
    assert SDKS & {*after} == {sdk}


def test_an_api_without_a_judge() -> None:
    with pytest.raises(ConfigurationError, match="no SDK's types are known for my_api"):
        judges.forms_of("my_api")


def test_what_is_read_is_kept() -> None:
    assert judges.forms_of("chat_completions") is judges.forms_of("chat_completions")
