"""LocalPromptDriver: the embedded model behind three protocols, through the official SDKs.

The model runs in a child process (`local_server`) on the loopback interface; it is small, made for trying
the plumbing and not for judging answers. What its server honours and what it ignores was tried live; where a request
has to be written differently for it, the conversion says so.
"""

from __future__ import annotations

from typing import Any

import msgspec

from llmneutral.convert.echo import Echo
from llmneutral.convert.grammar import json_grammar
from llmneutral.convert.report import Change
from llmneutral.convert.stream import StreamNormalizer
from llmneutral.convert.transport import Conversion
from llmneutral.drivers.local_server import CLIENT_HEADERS, LocalServer, LocalSettings, shared_server
from llmneutral.drivers.local_weights import SMOLLM2
from llmneutral.drivers.sdk_http import Headers, HttpPromptDriver
from llmneutral.drivers.threads import in_thread
from llmneutral.errors import ConfigurationError, ProviderError
from llmneutral.ir.jsontext import JSONObject
from llmneutral.profiles import joined

RESULTS = Echo("<tool_response>", "</tool_response>")
PROTOCOLS = ("chat_completions", "codex_responses", "anthropic_messages")


class LocalPromptDriver(HttpPromptDriver):
    """The embedded model, or a GGUF of the user's.

    Args:
        model: Name shown for the model; its own unless given.
        api_mode: chat_completions, codex_responses or anthropic_messages.
        server: Settings of the server (path of a GGUF, context …).
        facts: Overrides of the model's profile.
        **options: As for `BasePromptDriver`.
    """

    address_variable = ""
    needs_key = False

    def __init__(
        self,
        model: str | None = None,
        *,
        api_mode: str = "chat_completions",
        server: LocalSettings | None = None,
        facts: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.server_settings = server or LocalSettings()
        super().__init__(
            model or SMOLLM2.name, **{**options, "api_mode": api_mode, "provider": "local", "base_url": None}
        )
        if self.api_mode not in PROTOCOLS:
            raise ConfigurationError(f"the embedded model speaks {', '.join(PROTOCOLS)}; not {self.api_mode}")
        speaks_openai = self.api_mode != "anthropic_messages"
        self.sdk = "openai" if speaks_openai else "anthropic"
        self.client_name = "OpenAI" if speaks_openai else "Anthropic"
        self.async_client_name = f"Async{self.client_name}"
        window = {"context_window": self.server_settings.n_ctx, "max_output": self.server_settings.max_tokens}
        self.facts = joined(window, facts)  # all else stands in the profile of the endpoint `local`
        self.profile({})  # an unknown fact is told at once

    # --- the server -----------------------------------------------------------------------------

    def server(self) -> LocalServer:
        """Returns the running server; starts it, or starts it again, if it is not.

        Raises:
            LLMNeutralError: If it cannot be started, with what to install or to change.
        """
        return shared_server(self.server_settings)

    def access(self) -> tuple[str, str | None]:
        """The server's key and address of this moment; it may have been started anew."""
        server = self.server()
        return server.api_key, server.openai_base_url if self.sdk == "openai" else server.base_url

    async def ready_async_client(self) -> Any:
        """Starts the server if it has to, without holding up the event loop."""
        await in_thread(self.server)
        return await super().ready_async_client()

    def client_headers(self) -> Headers:
        """Connections are not kept: the server drops them after a stream without saying so."""
        return {**self._headers, **CLIENT_HEADERS}

    def http_client(self, module: Any, asynchronous: bool) -> Any:
        """A client that no proxy of the environment gets between."""
        kind = module.DefaultAsyncHttpxClient if asynchronous else module.DefaultHttpxClient
        return kind(trust_env=False)

    # --- requests -------------------------------------------------------------------------------

    def convert(self, source: Any, **overrides: Any) -> Conversion:
        """As every driver's; forced calls and schemas are written as this server honours them."""
        return _with_grammar(_forced(_only_the_answer(_typed(super().convert(source, **overrides)))))

    def normalizer(self, conversion: Conversion) -> StreamNormalizer:
        """As every driver's; after results so small a model may begin its answer with the marks that stood around them.

        The template (`local_template`) tells it of results so because it answers best then; of the marks it is freed.
        """
        made = super().normalizer(conversion)
        if conversion.react is None and _ends_with_results(conversion):
            made.read_through(RESULTS.deltas())
        return made

    def hint(self, error: ProviderError) -> str | None:
        """A small model has small limits."""
        if error.type == "context_length_error":
            return (
                f"The embedded model holds {self.server_settings.n_ctx:,} tokens, prompt and answer together: shorten "
                "the conversation, set server=LocalSettings(n_ctx=8192), or use another driver."
            )
        return super().hint(error)


def _typed(conversion: Conversion) -> Conversion:
    """Responses: this server wants `type` on the model's messages, which OpenAI takes as well; it says nothing new."""
    items = conversion.payload.get("input")
    if conversion.api != "codex_responses" or not isinstance(items, list):
        return conversion
    typed = [{"type": "message", **item} if item.get("role") == "assistant" else item for item in items]
    return msgspec.structs.replace(conversion, payload={**conversion.payload, "input": typed})


def _forced(conversion: Conversion) -> Conversion:
    """Where a call is required, the template begins it, so that this small model cannot fail to call."""
    if not _is_forced(conversion):
        return conversion
    extra = dict(conversion.payload.get("extra_body") or {})
    extra["chat_template_kwargs"] = {**extra.get("chat_template_kwargs", {}), "force_tool": True}
    payload = {**conversion.payload, "extra_body": extra}
    if payload["tool_choice"] == "required":
        payload["parallel_tool_calls"] = False
    why = "tool_choice: the template begins the call (force_tool), so that one comes; one call, no more"
    return _changed(conversion, payload, "added", why)


def _only_the_answer(conversion: Conversion) -> Conversion:
    """Forced to call after results, so small a model calls on and on: then only the answer's own tool is offered."""
    plan, tools = conversion.answer, conversion.payload.get("tools") or []
    if plan is None or plan.tool is None or len(tools) < 2:
        return conversion
    if not (_is_forced(conversion) and _ends_with_results(conversion)):
        return conversion
    name = conversion.names.native(plan.tool)
    kept = [tool for tool in tools if tool.get("function", tool).get("name") == name]
    why = f"tools: after results only {name!r} is offered, so that this small model comes to an answer"
    return _changed(conversion, {**conversion.payload, "tools": kept}, "coerced", why)


def _is_forced(conversion: Conversion) -> bool:
    choice = conversion.payload.get("tool_choice")
    return choice == "required" or (isinstance(choice, dict) and choice.get("type") == "any")


def _ends_with_results(conversion: Conversion) -> bool:
    """Whether the last thing said is what tools gave back."""
    last = (conversion.payload.get("input") or conversion.payload.get("messages") or [{}])[-1]
    if not isinstance(last, dict):
        return False
    if last.get("role") == "tool" or last.get("type") == "function_call_output":
        return True
    content = last.get("content")
    return isinstance(content, list) and bool(content) and content[-1].get("type") == "tool_result"


def _with_grammar(conversion: Conversion) -> Conversion:
    """Responses: `text.format` is ignored by this server; the caller's own schema as a grammar is obeyed."""
    text: JSONObject = conversion.payload.get("text") or {}
    form = text.get("format")
    if form is None or conversion.api != "codex_responses":
        return conversion
    payload = {key: value for key, value in conversion.payload.items() if key != "text"}
    if rest := {key: value for key, value in text.items() if key != "format"}:
        payload["text"] = rest
    schema = form.get("schema") if form.get("type") == "json_schema" else {"type": "object"}
    if conversion.answer is not None and conversion.answer.strategy == "native":
        schema = conversion.answer.schema  # whole: what was lost to make a `text.format` of it is lost no more
        changes = tuple([change for change in conversion.changes if change.step != "output_schema"])
        conversion = msgspec.structs.replace(conversion, changes=changes)
    extra = {**(payload.get("extra_body") or {}), "grammar": json_grammar(schema or {"type": "object"})}
    why = "text.format: the schema goes as a grammar, which this server enforces"
    return _changed(conversion, {**payload, "extra_body": extra}, "coerced", why)


def _changed(conversion: Conversion, payload: JSONObject, kind: Any, why: str) -> Conversion:
    change = Change("local", kind, (), why)
    return msgspec.structs.replace(conversion, payload=payload, changes=(*conversion.changes, change))
