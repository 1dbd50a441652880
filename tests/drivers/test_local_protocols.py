"""What the embedded model does for the official SDKs on three protocols, and what its driver works around.

A trait that changes with a release of the engine should fail here first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from llmneutral.drivers.local_server import CLIENT_HEADERS, LocalServer, LocalSettings
from llmneutral.drivers.local_template import json_grammar

pytestmark = pytest.mark.live

APIS = ("chat_completions", "codex_responses", "anthropic_messages")
QUESTION = "What is the capital of France?"
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 30},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "unit"],
}
SUM = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS = {"get_weather": ("Tells the weather of a city", WEATHER), "add": ("Adds two numbers", SUM)}
COUNTRY = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "population": {"type": "integer", "maximum": 10_000_000_000},
        "languages": {"type": "array", "items": {"type": "string", "maxLength": 15}, "maxItems": 2},
    },
    "required": ["name", "population", "languages"],
    "additionalProperties": False,
}


def openai_client_of(server: LocalServer) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=server.openai_base_url,
        api_key=server.api_key,
        default_headers=CLIENT_HEADERS,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(trust_env=False),
    )


def anthropic_client_of(server: LocalServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=server.base_url,
        api_key=server.api_key,
        default_headers=CLIENT_HEADERS,
        max_retries=0,
        http_client=anthropic.DefaultHttpxClient(trust_env=False),
    )


class Speaker:
    """The three protocols under one roof: each method takes the neutral wish and speaks the SDK's language."""

    def __init__(self, settings: LocalSettings) -> None:
        self.server = LocalServer(settings).start()
        self.openai = openai_client_of(self.server)
        self.anthropic = anthropic_client_of(self.server)

    def close(self) -> None:
        self.openai.close()
        self.anthropic.close()
        self.server.stop()

    def text(self, api: str, prompt: str, tokens: int = 30, **extra: Any) -> str:
        body = {"temperature": 0, **extra}
        messages: list[Any] = [{"role": "user", "content": prompt}]
        if api == "chat_completions":
            answer = self.openai.chat.completions.create(
                model="any", messages=messages, max_tokens=tokens, extra_body=body
            )
            return answer.choices[0].message.content or ""
        if api == "codex_responses":
            return self.openai.responses.create(
                model="any", input=messages, max_output_tokens=tokens, extra_body=body
            ).output_text
        message = self.anthropic.messages.create(model="any", messages=messages, max_tokens=tokens, extra_body=body)
        return "".join(block.text for block in message.content if block.type == "text")

    def streamed(self, api: str, prompt: str, tokens: int = 30) -> list[str]:
        messages: list[Any] = [{"role": "user", "content": prompt}]
        if api == "chat_completions":
            with self.openai.chat.completions.create(
                model="any", messages=messages, max_tokens=tokens, temperature=0, stream=True
            ) as chunks:
                return [text for chunk in chunks for choice in chunk.choices if (text := choice.delta.content)]
        if api == "codex_responses":
            with self.openai.responses.create(
                model="any", input=messages, max_output_tokens=tokens, temperature=0, stream=True
            ) as events:
                return [event.delta for event in events if event.type == "response.output_text.delta"]
        with self.anthropic.messages.stream(
            model="any", messages=messages, max_tokens=tokens, extra_body={"temperature": 0}
        ) as stream:
            return list(stream.text_stream)

    def call(self, api: str, prompt: str, choice: str, names: list[str], **extra: Any) -> list[tuple[str, Any]]:
        """The calls of an answer to a request with these tools, as (name, arguments)."""
        body = {"temperature": 0, **extra}
        messages: list[Any] = [{"role": "user", "content": prompt}]
        if api == "chat_completions":
            answer = self.openai.chat.completions.create(
                model="any", messages=messages, max_tokens=80, extra_body={**body, **openai_tools(choice, names)}
            )
            calls = answer.choices[0].message.tool_calls or []
            functions = [call.function for call in calls if call.type == "function"]
            return [(function.name, json.loads(function.arguments)) for function in functions]
        if api == "codex_responses":
            response = self.openai.responses.create(
                model="any", input=messages, max_output_tokens=80, extra_body={**body, **flat_tools(choice, names)}
            )
            items = [item for item in response.output if item.type == "function_call"]
            return [(item.name, json.loads(item.arguments)) for item in items]
        message = self.anthropic.messages.create(
            model="any", messages=messages, max_tokens=80, extra_body={**body, **anthropic_tools(choice, names)}
        )
        return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def openai_tools(choice: str, names: list[str]) -> dict[str, Any]:
    functions = [{"name": name, "description": TOOLS[name][0], "parameters": TOOLS[name][1]} for name in names]
    tools = [{"type": "function", "function": function} for function in functions]
    return {"tools": tools, "tool_choice": choice, "parallel_tool_calls": False}


def flat_tools(choice: str, names: list[str]) -> dict[str, Any]:
    tools = [
        {"type": "function", "name": name, "description": TOOLS[name][0], "parameters": TOOLS[name][1]}
        for name in names
    ]
    return {"tools": tools, "tool_choice": choice, "parallel_tool_calls": False}


def anthropic_tools(choice: str, names: list[str]) -> dict[str, Any]:
    tools = [{"name": name, "description": TOOLS[name][0], "input_schema": TOOLS[name][1]} for name in names]
    return {"tools": tools, "tool_choice": {"type": {"required": "any"}.get(choice, choice)}}


@pytest.fixture(scope="module")
def speaker() -> Iterator[Speaker]:
    """Repeatable: without the prompt cache, the same request has the same answer."""
    speaker = Speaker(LocalSettings(n_ctx=2048, n_parallel=1, cache_prompt=False))
    yield speaker
    speaker.close()


@pytest.fixture(scope="module")
def caller() -> Iterator[Speaker]:
    """Fast with tools, whose worked examples stay in the prompt cache."""
    speaker = Speaker(LocalSettings(n_ctx=2048, n_parallel=1))
    yield speaker
    speaker.close()


# ----------------------------------------------------------------------------------------------------------------------
# Text


@pytest.mark.parametrize("api", APIS)
def test_answers(speaker: Speaker, api: str) -> None:
    assert "Paris" in speaker.text(api, QUESTION)


@pytest.mark.parametrize("api", APIS)
def test_streams_token_by_token_what_it_answers_whole(speaker: Speaker, api: str) -> None:
    pieces = speaker.streamed(api, QUESTION)
    assert len(pieces) > 3
    assert "".join(pieces) == speaker.text(api, QUESTION)


@pytest.mark.parametrize("api", APIS)
def test_answers_the_same_every_time(speaker: Speaker, api: str) -> None:
    answers = {speaker.text(api, "Tell me about cats.", tokens=20) for _ in range(3)}
    assert len(answers) == 1


@pytest.mark.parametrize("api", APIS)
def test_a_request_right_after_a_stream_is_answered(speaker: Speaker, api: str) -> None:
    """With `Connection: close`; without it about one in three is refused."""
    for _ in range(3):
        speaker.streamed(api, "hi", tokens=3)
        assert speaker.text(api, "hi", tokens=3)


@pytest.mark.parametrize("api", APIS)
def test_refuses_a_prompt_that_is_too_long(speaker: Speaker, api: str) -> None:
    with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)) as caught:
        speaker.text(api, "word " * 4000)
    assert isinstance(caught.value, (openai.BadRequestError, anthropic.BadRequestError))
    assert caught.value.type == "exceed_context_size_error"
    with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)):
        speaker.streamed(api, "word " * 4000)


def test_reports_usage_and_the_alias(speaker: Speaker) -> None:
    answer = speaker.openai.chat.completions.create(
        model="whatever", messages=[{"role": "user", "content": "hi"}], max_tokens=4, temperature=0
    )
    assert answer.model == speaker.server.model == "smollm2-135m-instruct"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 4
    assert answer.usage.prompt_tokens + 4 == answer.usage.total_tokens


# ----------------------------------------------------------------------------------------------------------------------
# Tools

ASK_WEATHER = "What is the weather in Paris in celsius?"
FORCE = {"chat_template_kwargs": {"force_tool": True}}


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("api", APIS)
def test_calls_the_right_tool(caller: Speaker, api: str, choice: str) -> None:
    calls = caller.call(api, ASK_WEATHER, choice, ["get_weather", "add"])
    assert calls == [("get_weather", {"city": "Paris", "unit": "celsius"})]


@pytest.mark.parametrize("api", APIS)
def test_one_tool_with_force_is_a_named_choice(caller: Speaker, api: str) -> None:
    """The way a named tool_choice is sent: the protocols' own form is not honoured."""
    [(name, arguments)] = caller.call(api, ASK_WEATHER, "required", ["add"], **FORCE)
    assert name == "add"
    assert {key: type(value) for key, value in arguments.items()} == {"a": int, "b": int}


def test_force_needs_required(caller: Speaker) -> None:
    with pytest.raises(openai.InternalServerError, match="does not match the expected"):
        caller.openai.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": ASK_WEATHER}],
            max_tokens=60,
            extra_body={**openai_tools("auto", ["get_weather"]), **FORCE, "temperature": 0},
        )


def test_streams_a_call_in_pieces(caller: Speaker) -> None:
    chunks = caller.openai.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": ASK_WEATHER}],
        max_tokens=80,
        stream=True,
        extra_body={**openai_tools("auto", ["get_weather"]), "temperature": 0},
    )
    choices = [choice for chunk in chunks for choice in chunk.choices]
    pieces = [call.function for choice in choices for call in choice.delta.tool_calls or [] if call.function]
    assert pieces[0].name == "get_weather"
    assert len(pieces) > 3
    assert json.loads("".join(piece.arguments or "" for piece in pieces)) == {"city": "Paris", "unit": "celsius"}
    assert choices[-1].finish_reason == "tool_calls"


def test_reads_a_result_back_on_chat_completions(caller: Speaker) -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Paris", "unit": "celsius"}'}
    messages: list[Any] = [
        {"role": "user", "content": ASK_WEATHER},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "-3"},
    ]
    answer = caller.openai.chat.completions.create(
        model="any", messages=messages, max_tokens=40, temperature=0, extra_body=openai_tools("auto", ["get_weather"])
    )
    assert "-3" in (answer.choices[0].message.content or "")


def test_reads_a_result_back_on_responses(caller: Speaker) -> None:
    arguments = '{"city": "Paris", "unit": "celsius"}'
    items: list[Any] = [
        {"role": "user", "content": ASK_WEATHER},
        {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": arguments},
        {"type": "function_call_output", "call_id": "c", "output": "-3"},
    ]
    answer = caller.openai.responses.create(
        model="any", input=items, max_output_tokens=40, temperature=0, extra_body=flat_tools("auto", ["get_weather"])
    )
    assert "-3" in answer.output_text


def test_reads_a_result_back_on_messages(caller: Speaker) -> None:
    use = {"type": "tool_use", "id": "c", "name": "get_weather", "input": {"city": "Paris", "unit": "celsius"}}
    messages: list[Any] = [
        {"role": "user", "content": ASK_WEATHER},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "-3"}]},
    ]
    answer = caller.anthropic.messages.create(
        model="any",
        messages=messages,
        max_tokens=40,
        extra_body={**anthropic_tools("auto", ["get_weather"]), "temperature": 0},
    )
    assert "-3" in "".join(block.text for block in answer.content if block.type == "text")


# ----------------------------------------------------------------------------------------------------------------------
# Structured output


def check_country(text: str) -> None:
    value = json.loads(text)
    assert {key: type(item) for key, item in value.items()} == {"name": str, "population": int, "languages": list}
    assert text == json.dumps(value, separators=(",", ":"), ensure_ascii=False), "compact, nothing around it"


@pytest.mark.parametrize("prompt", ["Describe Italy.", "Tell me about Japan, please."])
@pytest.mark.parametrize("api", ["chat_completions", "codex_responses"])
def test_a_grammar_forces_the_schema(caller: Speaker, api: str, prompt: str) -> None:
    check_country(caller.text(api, prompt, tokens=150, grammar=json_grammar(COUNTRY)))


def test_a_grammar_and_tools_exclude_each_other(caller: Speaker) -> None:
    with pytest.raises(openai.BadRequestError, match="grammar"):
        caller.call("chat_completions", "hi", "auto", ["add"], grammar=json_grammar(COUNTRY))


def test_messages_knows_no_grammar(caller: Speaker) -> None:
    text = caller.text("anthropic_messages", "Say hello.", grammar=json_grammar(COUNTRY))
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


# ----------------------------------------------------------------------------------------------------------------------
# Thinking and media

THINK: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": True}, "temperature": 0}
RIDDLE: list[Any] = [{"role": "user", "content": "Which is bigger, a mouse or a house?"}]


def test_thinks_on_chat_completions(caller: Speaker) -> None:
    answer = caller.openai.chat.completions.create(model="any", messages=RIDDLE, max_tokens=200, extra_body=THINK)
    message = answer.choices[0].message.model_dump()
    assert message["reasoning_content"]
    assert message["content"]


def test_thinks_on_responses(caller: Speaker) -> None:
    answer = caller.openai.responses.create(model="any", input=RIDDLE, max_output_tokens=200, extra_body=THINK)
    assert [item.type for item in answer.output] == ["reasoning", "message"]


def test_thinks_on_messages(caller: Speaker) -> None:
    answer = caller.anthropic.messages.create(model="any", messages=RIDDLE, max_tokens=200, extra_body=THINK)
    assert [block.type for block in answer.content] == ["thinking", "text"]


def test_does_not_think_unasked(caller: Speaker) -> None:
    answer = caller.openai.chat.completions.create(model="any", messages=RIDDLE, max_tokens=30, temperature=0)
    assert not answer.choices[0].message.model_dump().get("reasoning_content")


def test_refuses_a_picture_with_a_server_error(caller: Speaker) -> None:
    """Status 500, which would be retried: the driver must refuse before."""
    picture: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with pytest.raises(openai.InternalServerError, match="image input is not supported"):
        caller.openai.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": [picture]}],
            max_tokens=5,
        )
