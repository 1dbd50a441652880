"""The face of validation: what may be given, who judges, and what is found in payloads that a person has broken."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

import llmneutral
from llmneutral import ConfigurationError, MissingExtraError, Problem, validate, validator
from llmneutral.validation import judges
from llmneutral.validation.problems import written_path
from tests.cases import golden
from tests.validation import broken_payloads

APIS = tuple(judges.JUDGES)
WHOLE = broken_payloads.names()
BROKEN = [pytest.param(api, case, id=name) for api, name, case in broken_payloads.cases()]
GOLDEN = [
    pytest.param(api, path, id=path.name)
    for case, api in golden.targets()
    if "refused" not in json.loads((path := golden.HERE / f"{case}.{api}.payload.json").read_text("utf-8"))
]
FREE = re.compile(
    r".*(\.|^)(parameters|input_schema|input|args|response|schema|json|json_schema|data|parameters_json_schema"
    r"|extra_body|additionalModelRequestFields)(\W.*)?"
)
"""Places where an object may have any keys: schemas, arguments and results of tools, and what goes beside the types."""


def nodes(value: Any, loc: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every node of a payload."""
    yield loc, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from nodes(item, (*loc, key))


def conversion(api: str = "chat_completions", **settings: Any) -> llmneutral.Conversion:
    found = llmneutral.convert("Hi", api, **{"model": "m", "max_tokens": 5, **settings})
    assert isinstance(found, llmneutral.Conversion)
    return found


# ----------------------------------------------------------------------------------------------------------------------
# What is valid, and what is broken


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_payload_is_valid(name: str) -> None:
    file = broken_payloads.load(name)
    before = copy.deepcopy(file["payload"])
    assert validate(file["payload"], file["api"]) == []
    assert file["payload"] == before


@pytest.mark.parametrize(("api", "case"), BROKEN)
def test_a_broken_payload_is_found_out(api: str, case: dict[str, Any]) -> None:
    problems = validate(case["payload"], api)
    found = {problem.path: problem.message for problem in problems}
    assert found.keys() == case["found"].keys()
    assert [message for path, message in found.items() if not message.startswith(case["found"][path])] == []
    assert [problem.pointer for problem in problems] == case.get("pointers", [problem.pointer for problem in problems])


def test_every_api_has_broken_payloads() -> None:
    assert {param.values[0] for param in BROKEN} == {*APIS}


@pytest.mark.parametrize("name", WHOLE)
def test_a_key_that_nobody_knows_is_found_wherever_objects_are_not_free(name: str) -> None:
    file = broken_payloads.load(name)
    for loc, node in nodes(file["payload"]):
        if not isinstance(node, dict) or FREE.fullmatch(written_path(loc)):
            continue
        node["zzz_unknown"] = 1
        assert [p.path for p in validate(file["payload"], file["api"])] == [written_path((*loc, "zzz_unknown"))]
        del node["zzz_unknown"]


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_found_stands_where_the_payload_was_changed(name: str) -> None:
    """An object or a number put in the place of anything is found there, or at a parent that it makes another thing."""
    file = broken_payloads.load(name)
    for loc, _ in [node for node in nodes(file["payload"]) if node[0]]:
        made = copy.deepcopy(file["payload"])
        parent = made
        for key in loc[:-1]:
            parent = parent[key]
        for value in ({"zzz": 1}, 5):
            parent[loc[-1]] = value
            near = written_path(loc[:-1])
            assert [p for p in validate(made, file["api"]) if not p.path.startswith(near)] == []


# ----------------------------------------------------------------------------------------------------------------------
# Our own payloads


@pytest.mark.parametrize(("api", "path"), GOLDEN)
def test_a_golden_payload_is_valid(api: str, path: Any) -> None:
    assert validate(json.loads(path.read_text("utf-8")), api) == []


@pytest.mark.parametrize(("case", "api"), list(golden.targets()))
def test_the_conversion_of_a_golden_case_is_valid(case: str, api: str) -> None:
    given = golden.load(case)
    settings = {**given.get("settings", {}), **given["targets"][api]}
    try:
        made = llmneutral.convert(given["messages"], api, tools=given.get("tools"), **settings)
    except llmneutral.ConversionError:
        return  # the golden file says so
    assert validate(made) == []


def test_a_conversion_knows_its_api() -> None:
    assert validate(conversion("anthropic_messages")) == []
    assert [p.path for p in validate(conversion("anthropic_messages"), "bedrock")] == [
        *("model", "max_tokens", "messages[0].content[0].type", "modelId")
    ]


def test_what_an_extra_body_holds_is_not_checked() -> None:
    made = conversion(extra_body={"vendor": {"on": [1]}})
    assert validate(made) == []
    assert [p.path for p in validate(made.to_json(), "chat")] == ["vendor"]
    assert validate({**conversion().payload, "extra_body": {"x": 1}}, "chat") == []


def test_paths_of_a_conversion_are_those_of_its_json() -> None:
    made = conversion()
    made.payload["extra_body"] = {"vendor": {"tags": {"a", "b"}}}
    assert validate(made) == [Problem("vendor.tags", "is a set, which JSON cannot hold", "/vendor/tags")]


def test_sampling_that_the_sdk_sends_beside_the_body_is_right_in_the_body() -> None:
    made = conversion("anthropic_messages", model="claude-sonnet-4-5", temperature=0.5)
    assert made.to_json()["temperature"] == 0.5
    assert validate(made) == validate(made.to_json(), "anthropic") == []


@pytest.mark.parametrize(("provider", "problems"), [("deepseek", []), ("openai", ["messages[1].reasoning_content"])])
def test_imitators_have_keys_of_their_own(provider: str, problems: list[str]) -> None:
    payload = {
        "model": "m",
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!", "reasoning_content": "."}],
    }
    made = llmneutral.convert("?", "chat", model="m", provider=provider)
    made.payload.update(payload)
    assert [problem.path for problem in validate(made)] == problems
    assert [problem.path for problem in validate(payload, "chat")] == ["messages[1].reasoning_content"]


@pytest.mark.parametrize(
    ("base_url", "problems"),
    [("https://x.openai.azure.com/openai/v1", ["messages[0].partial"]), ("http://127.0.0.1:8000/v1", [])],
)
def test_the_address_tells_who_answers(base_url: str, problems: list[str]) -> None:
    made = llmneutral.convert("?", "chat", model="m", base_url=base_url)
    made.payload["messages"] = [{"role": "assistant", "content": "I begin", "partial": True}]
    assert [problem.path for problem in validate(made)] == problems


# ----------------------------------------------------------------------------------------------------------------------
# Who judges


@pytest.mark.parametrize("api", APIS)
def test_the_judge_is_told_with_its_version(api: str) -> None:
    package, number = validator(api).judge.split(" ")
    assert version(package).startswith(f"{number}.")
    assert validator(api).api == api


@pytest.mark.parametrize("api", APIS)
def test_everything_in_the_sdk_was_understood(api: str) -> None:
    """Where an annotation is not read, anything is valid: look here first when a new version of an SDK is out."""
    for name in WHOLE:
        file = broken_payloads.load(name)
        if file["api"] == api:
            validate(file["payload"], api)
    assert judges.forms_of(api).unread() == []


def test_aliases_are_names() -> None:
    assert validator("claude") == validator("anthropic_messages")
    assert validate({"messages": []}, "openai") == [Problem("model", "is required", "/model")]


def test_the_api_must_be_known() -> None:
    with pytest.raises(ConfigurationError, match="which API"):
        validate({"model": "m"})
    with pytest.raises(ConfigurationError, match="nonsense"):
        validate({}, "nonsense")
    with pytest.raises(ConfigurationError, match=r"codex_app_server(.|\n)*chat_completions"):
        validate({}, "codex_app_server")


@pytest.mark.parametrize(
    ("api", "remedy"),
    [("gemini", "llmneutral[google]"), ("bedrock", "llmneutral[bedrock]"), ("chat", "pip install openai")],
)
def test_without_the_sdk_nothing_is_checked(monkeypatch: pytest.MonkeyPatch, api: str, remedy: str) -> None:
    def absent(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(judges, "version", absent)
    judges.named.cache_clear()
    judges.forms_of.cache_clear()
    with pytest.raises(MissingExtraError, match="is not installed") as caught:
        validate({}, api)
    assert remedy in str(caught.value.hint)


# ----------------------------------------------------------------------------------------------------------------------
# What is no payload at all


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("payload", [None, [], "{}", 5, object()])
def test_a_payload_is_an_object(api: str, payload: Any) -> None:
    [problem] = validate(payload, api)
    assert problem.path == problem.pointer == ""
    assert problem.message.startswith("must be an object, not ")


@pytest.mark.parametrize("api", APIS)
def test_an_empty_payload_lacks_something(api: str) -> None:
    assert {problem.message for problem in validate({}, api)} <= {"is required"}


def test_a_payload_that_holds_itself() -> None:
    payload: dict[str, Any] = {"model": "m", "messages": [], "tools": []}
    payload["tools"].append({"type": "function", "function": {"name": "f", "parameters": payload}})
    assert [str(problem) for problem in validate(payload, "chat")] == ["payload: is nested too deeply, or holds itself"]


def test_threads_share_what_is_read_of_an_sdk() -> None:
    judges.forms_of.cache_clear()
    file = broken_payloads.load("codex_responses")
    made = broken_payloads.broken(file["payload"], file["broken"][0])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: validate(made, "responses"), range(40)))
    assert all(problems == found[0] for problems in found)
    assert [problem.path for problem in found[0]] == [*file["broken"][0]["found"]]
