"""The real `codex app-server`, its model provider on loopback: what the script of the other tests is a picture of."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmneutral import AuthenticationError, CodexAppServerPromptDriver, PromptStack, ProviderError
from llmneutral.drivers.codex import POLICIES, SANDBOXES
from llmneutral.drivers.codex_requests import ANSWERS
from llmneutral.drivers.codex_turn import BY_STATUS, KINDS, READERS
from tests.loopback import HOLD, Loopback, event, streamed, talk, whole

pytestmark = pytest.mark.slow
FIELDS = {"name": "loop", "wire_api": "responses", "env_key": "LOOP_KEY"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program: what is installed, or else what npm brings into a folder of the tests' own."""
    if (found := shutil.which(os.environ.get("LLMNEUTRAL_CODEX", "codex"))) is not None:
        return found
    if (npm := shutil.which("npm")) is None:
        pytest.skip("there is neither codex nor npm: install @openai/codex, or name it by LLMNEUTRAL_CODEX")
    folder = tmp_path_factory.mktemp("npm")
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "@openai/codex"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        pytest.skip(f"npm could not install @openai/codex: {done.stderr[-300:]}")
    return str(folder / "node_modules" / ".bin" / "codex")


class Live:
    """Makes a driver of the real program that asks a server on loopback."""

    def __init__(self, program: str, home: Path) -> None:
        self.program = program
        self.home = home
        self.made: list[CodexAppServerPromptDriver] = []

    def driver(self, server: Loopback, **options: Any) -> CodexAppServerPromptDriver:
        fields = ", ".join(
            [f'{name} = "{value}"' for name, value in {**FIELDS, "base_url": f"{server.url}/v1"}.items()]
        )
        provider = f"model_providers.loop={{{fields}, request_max_retries = 0, stream_max_retries = 0}}"
        command = [self.program, "-c", 'model_provider="loop"', "-c", provider]
        environment = {"CODEX_HOME": str(self.home), "LOOP_KEY": "k"}
        self.made.append(CodexAppServerPromptDriver("m", command=command, environment=environment, **options))
        return self.made[-1]


@pytest.fixture
def live(program: str, tmp_path: Path) -> Iterator[Live]:
    made = Live(program, tmp_path)
    yield made
    for driver in made.made:
        driver.close()


def asked(server: Loopback) -> list[Any]:
    return [request.json for request in server.requests if request.path.endswith("/responses")]


def test_a_conversation_in_one_thread(live: Live) -> None:
    answers = [talk(("thinking", "hm hm", "sealed"), ("text", "hello there")), talk("fine")]
    with Loopback(*answers) as server:
        driver = live.driver(server)
        stack = PromptStack.from_openai([{"role": "system", "content": "Be brief"}, {"role": "user", "content": "hi"}])
        stream = driver.stream(stack)
        kinds = [delta.kind for delta in stream]
        assert (kinds[0], kinds[-1], stream.response.text) == ("start", "end", "hello there")
        assert kinds.count("text") == 3
        assert stream.response.to_dict()["reasoning"][0]["text"] == "hm hm"
        stack.messages.append(stream.response.message)
        stack.add_user_message("how are you")
        second = driver.run(stack)
        assert (second.text, second.usage.input_total, second.usage.output_total) == ("fine", 5, 7)
        roles = [item.get("role") for item in asked(server)[1]["input"] if item["type"] == "message"]
        assert roles[-3:] == ["user", "assistant", "user"]
        assert "Be brief" in str(asked(server)[0]["input"])


def test_another_history_an_image_and_a_schema(live: Live) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}}
    history = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": [{"type": "text", "text": "c"}, picture]},
    ]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with Loopback(talk('{"n": 3}')) as server:
        assert live.driver(server).run(history, output_schema=schema).parsed == {"n": 3}
        [body] = asked(server)
    assert "Earlier conversation:\\n\\nuser: a\\n\\nassistant: b" in str(body["input"])
    assert "input_image" in str(body["input"])
    assert body["text"]["format"]["schema"]["properties"] == {"n": {"type": "integer"}}


def test_a_refusal_of_the_provider_is_told_in_the_taxonomy(live: Live) -> None:
    refused = {"error": {"type": "invalid_request_error", "code": None, "message": "no such thing", "param": None}}
    with Loopback(whole(refused, 401)) as server, pytest.raises(ProviderError, match="no such thing") as caught:
        live.driver(server).run("hi")
    assert isinstance(caught.value, AuthenticationError), (caught.value.raw_type, caught.value.status)
    assert caught.value.attempts == 1


def test_an_interrupt_ends_the_turn_and_the_connection(live: Live) -> None:
    begun = [
        {"type": "response.created", "response": {"id": "r1", "model": "m", "status": "in_progress", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"type": "message", "id": "msg_0", "role": "assistant", "status": "in_progress", "content": []},
        },
        {
            "type": "response.output_text.delta",
            "output_index": 0,
            "item_id": "msg_0",
            "delta": "hel",
            "content_index": 0,
        },
    ]
    with Loopback(streamed([*map(event, begun), HOLD]), talk("next")) as server:
        driver = live.driver(server)
        stream = driver.stream("hi")
        assert next(delta.text for delta in stream if delta.kind == "text") == "hel"
        began = time.monotonic()
        stream.close()
        assert time.monotonic() - began < 3
        assert (stream.response.text, stream.response.complete) == ("hel", False)
        assert server.requests[-1].left.wait(5)
        assert driver.run("hi again").text == "next"


def twice(n: int) -> int:
    """Doubles."""
    return 2 * n


def test_a_tool_of_the_callers_is_run_in_the_turn(live: Live) -> None:
    with Loopback(talk(("call", "c1", "twice", '{"n": 21}')), talk("it is 42")) as server:
        response = live.driver(server, dynamic_tools=True).run("double 21", tools=[twice])
        assert response.text == "it is 42"
        assert response.usage.output_total == 14  # of both requests
        outputs = [item for item in asked(server)[1]["input"] if item["type"] == "function_call_output"]
    assert "42" in str(outputs)


def test_a_command_is_declined_unless_a_callback_allows_it(live: Live, tmp_path: Path) -> None:
    with Loopback(talk("seen")) as server:
        live.driver(server).run("hi")
        tools = [tool.get("name") for tool in asked(server)[0]["tools"]]
    shell = next(name for name in tools if name in ("exec_command", "shell", "shell_command", "local_shell"))
    key, value = {"exec_command": ("cmd", '"touch made"'), "shell_command": ("command", '"touch made"')}.get(
        shell, ("command", '["touch", "made"]')
    )
    call = (
        "call",
        "c1",
        shell,
        f'{{"{key}": {value}, "sandbox_permissions": "require_escalated", "justification": "j"}}',
    )
    for decision, made in (("decline", False), ("accept", True)):
        requests: list[Any] = []
        folder = tmp_path / decision
        folder.mkdir()
        with Loopback(talk(call), talk("done")) as server:
            driver = live.driver(
                server,
                cwd=str(folder),
                approval_policy="on-request",
                on_approval=lambda request, said=decision, kept=requests: kept.append(request) or said,
            )
            assert driver.run("make it").text == "done"
        assert [request["method"] for request in requests] == ["item/commandExecution/requestApproval"]
        assert (folder / "made").exists() is made


def test_the_protocol_is_the_one_that_is_installed(program: str, tmp_path: Path) -> None:
    """Every name that is sent or read stands in the schema that the program prints of itself."""
    command = [program, "app-server", "generate-json-schema", "--out", str(tmp_path / "schema")]
    subprocess.run(
        command, check=True, capture_output=True, timeout=60, env={**os.environ, "CODEX_HOME": str(tmp_path)}
    )

    def schema(name: str) -> Any:
        return json.loads((tmp_path / "schema" / f"{name}.json").read_text(encoding="utf-8"))

    def methods(name: str) -> set[str]:
        return {each["properties"]["method"]["enum"][0] for each in schema(name)["oneOf"]}

    start, turn = schema("v2/ThreadStartParams"), schema("v2/TurnStartParams")
    named = {"model", "cwd", "sandbox", "approvalPolicy", "ephemeral", "developerInstructions"}
    assert named <= {*start["properties"]}
    assert {"threadId", "input", "model", "effort", "summary", "outputSchema"} <= {*turn["properties"]}
    assert {*SANDBOXES} == {*start["definitions"]["SandboxMode"]["enum"]}
    assert {*POLICIES} == {*start["definitions"]["AskForApproval"]["oneOf"][0]["enum"]}
    assert {*READERS} <= methods("ServerNotification")
    assert {*ANSWERS, "item/tool/call", "item/tool/requestUserInput"} <= methods("ServerRequest")
    sent = {"initialize", "account/read", "thread/start", "thread/unsubscribe", "turn/start", "turn/interrupt"}
    assert sent <= methods("ClientRequest")
    failures = json.dumps(schema("v2/ErrorNotification")["definitions"]["CodexErrorInfo"])
    assert [name for name in {*KINDS} | BY_STATUS if f'"{name}"' not in failures] == []


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
