"""The code of the first source document, with only the import name changed, against a provider on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from llmneutral import (
    ActionArtifact,
    ActionCallMessageContent,
    ActionResultMessageContent,
    AnthropicPromptDriver,
    BasePromptDriver,
    DeltaMessage,
    FinishPromptEvent,
    ImageArtifact,
    ImageMessageContent,
    ListArtifact,
    Message,
    PromptStack,
    StartPromptEvent,
    TextArtifact,
    TextChunkEvent,
    TextDeltaMessageContent,
    TextMessageContent,
    ToolAction,
)
from llmneutral.configs import lazy_property
from llmneutral.configs.drivers import DriversConfig
from tests.loopback import Loopback, talk

SWITCHED = """
from llmneutral.structures import Agent
from llmneutral.configs import Defaults
from llmneutral.configs.drivers import AnthropicDriversConfig

# 默认走 OpenAI —— 什么都不配就是它
agent = Agent()
agent.run("讲个冷笑话")

# 想换 Anthropic?改这一行全局默认,业务代码一字不动
Defaults.drivers_config = AnthropicDriversConfig()
agent = Agent()
agent.run("讲个冷笑话")   # 现在走 claude
"""

SCOPED = """
from llmneutral.structures import Agent
from llmneutral.configs.drivers import AnthropicDriversConfig

# 只在这个块里用 Anthropic
with AnthropicDriversConfig():
    Agent().run("只有这句走 claude")
# 出了 with,自动回到原来的默认
Agent().run("讲个冷笑话")
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A provider that speaks every API, to whom the SDKs' own variables point; keys are set, as on a user's machine."""
    from llmneutral import Defaults

    with Loopback(talk("冷")) as running:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", running.url + "/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.delenv("LLMNEUTRAL_PROVIDER", raising=False)
        Defaults.drivers_config = None
        yield running
        Defaults.drivers_config = None


def paths(server: Loopback) -> list[str]:
    return [request.path.rpartition("/")[2] for request in server.requests]


def test_one_line_switches_the_provider(server: Loopback) -> None:
    names: dict[str, Any] = {}
    exec(SWITCHED, names)
    assert paths(server) == ["responses", "messages"]
    assert [request.json["model"] for request in server.requests] == ["gpt-6-luna", "claude-sonnet-5-5"]
    assert names["agent"].output.value == "冷"


def test_it_reaches_agents_that_exist_already(server: Loopback) -> None:
    exec(SWITCHED.replace('agent = Agent()\nagent.run("讲个冷笑话")   #', 'agent.run("再来一个")   #'), {})
    assert paths(server) == ["responses", "messages"]
    assert len(server.requests[1].json["messages"]) == 3


def test_a_with_block_switches_it_for_a_while(server: Loopback) -> None:
    exec(SCOPED, {})
    assert paths(server) == ["messages", "responses"]


def test_a_config_makes_its_driver_lazily(server: Loopback) -> None:
    made: list[str] = []

    class OwnDriversConfig(DriversConfig):
        @lazy_property()
        def prompt_driver(self) -> Any:
            made.append("driver")
            return AnthropicPromptDriver(model="claude-3-7-sonnet-latest")

    from llmneutral.structures import Agent

    with OwnDriversConfig() as config:
        assert not made
        Agent().run("讲个冷笑话")
        Agent().run("讲个冷笑话")
    assert made == ["driver"]
    assert server.requests[0].json["model"] == "claude-3-7-sonnet-latest"
    assert (config.model, config.api_mode) == ("claude-3-7-sonnet-latest", "anthropic_messages")
    assert config.status().ready


def test_three_entries_fill_a_stack() -> None:
    stack = PromptStack()
    stack.add_system_message("Be brief.")
    stack.add_user_message(TextArtifact("Look."))
    stack.add_assistant_message("I see.")
    assert [message.role for message in stack.messages] == [
        Message.SYSTEM_ROLE, Message.USER_ROLE, Message.ASSISTANT_ROLE,
    ]  # fmt: skip
    assert stack.messages[0].is_system()
    assert stack.messages[1].is_user()
    assert stack.messages[2].is_assistant()


def test_artifacts_become_contents() -> None:
    stack = PromptStack()
    image = ImageArtifact(b"\x89PNG\r\n\x1a\n", format="png")
    call = ToolAction(tag="1", name="Calculator", path="add", input={"a": 1})
    done = ToolAction(tag="1", name="Calculator", path="add", input={"a": 1}, output=TextArtifact("2"))
    stack.add_user_message(ListArtifact([TextArtifact("a"), ListArtifact([image]), "b"]))
    stack.add_assistant_message(ActionArtifact(call))
    stack.add_user_message(ActionArtifact(done))
    kinds = [[type(content) for content in message.content] for message in stack.messages]
    assert kinds == [
        [TextMessageContent, ImageMessageContent, TextMessageContent],
        [ActionCallMessageContent],
        [ActionResultMessageContent],
    ]


def test_a_tool_name_goes_both_ways() -> None:
    action = ToolAction(tag="1", name="Calculator", path="add")
    assert action.to_native_tool_name() == "Calculator_add"
    assert ToolAction.from_native_tool_name("Calculator_add") == ("Calculator", "add")


def test_an_output_schema_of_pydantic_and_of_schema_is_json_schema() -> None:
    from pydantic import BaseModel
    from schema import Schema

    class Joke(BaseModel):
        text: str

    for kind in (Joke, Schema({"text": str})):
        written = PromptStack(output_schema=kind).to_output_json_schema()
        assert written is not None
        assert written["properties"]["text"]["type"] == "string"
        assert written["required"] == ["text"]


class SeedPromptDriver(BasePromptDriver):
    """A new provider by the two methods alone; it fails once."""

    needs_key = False
    failures = 1

    def try_run(self, prompt_stack: PromptStack) -> Message:
        self._fail()
        return Message(Message.ASSISTANT_ROLE, (TextMessageContent("冷笑话"),))

    def try_stream(self, prompt_stack: PromptStack) -> Iterator[DeltaMessage]:
        self._fail()
        for piece in ("冷", "笑", "话"):
            yield DeltaMessage("text", TextDeltaMessageContent(piece, index=0))

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("down")


@pytest.mark.parametrize("stream", [False, True])
def test_two_methods_are_a_driver_with_retry_events_and_aggregation(stream: bool) -> None:
    driver = SeedPromptDriver(model="seed", api_mode="chat_completions", stream=stream)
    driver.sleep = lambda seconds: None
    seen: list[Any] = []
    for kind in (StartPromptEvent, TextChunkEvent, FinishPromptEvent):
        driver.on(kind, lambda event: seen.append(event.type))
    answer = driver.run(TextArtifact("讲个冷笑话"))
    assert answer.message.to_text() == "冷笑话"
    assert answer.metadata is not None
    assert answer.metadata.attempts == 2
    assert seen == ["StartPromptEvent", *["TextChunkEvent"] * (3 if stream else 0), "FinishPromptEvent"]
