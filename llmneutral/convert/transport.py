"""A transport is a value: passes, tables and small functions; no subclass.

It translates and does nothing else: clients, keys, retries, streams and caching of answers are the
drivers' (`llmneutral.drivers`). The four methods `convert_messages`, `convert_tools`, `build_kwargs`
and `normalize_response` are those of Hermes' `ProviderTransport`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from llmneutral.convert.job import BlockWriter, Job, Messages, Pass, Target
from llmneutral.convert.names import IdRule, NameRule, ToolNames
from llmneutral.convert.params import Param
from llmneutral.convert.react.reading import Form
from llmneutral.convert.report import Change, Ref
from llmneutral.convert.settings import canonical_settings
from llmneutral.convert.stream import Reader, StreamNormalizer
from llmneutral.convert.trace import Trace, apart
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.messages import Message
from llmneutral.ir.responses import FinishReason, NormalizedResponse, Usage
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.tools import ToolDefinition, definitions
from llmneutral.profiles import Profile, profile

Wire = Callable[[JSONObject, Trace | None], JSONObject]
MESSAGES_KEYS = ("system", "instructions", "messages", "input", "contents")
ROLES = frozenset(("system", "developer", "user", "assistant"))


class Conversion(msgspec.Struct, frozen=True):
    """A request for one API, and everything that was changed to make it.

    Attributes:
        api: API mode.
        payload: Exactly what the official SDK is sent as the request body (the keyword arguments of the call).
        changes: Everything that is not a one-to-one rendering.
        names: Native tool names of this request and what they stand for.
        headers: Request headers the payload needs.
        open_calls: Ids of calls at the end that still wait for their results; a driver refuses to send them.
        endpoint: HTTP method and path.
        trace: JSON pointer into `to_json()` → addresses of blocks; None unless asked for.
        target: Where it goes.
        answer: How the answer to an output schema is read (see `llmneutral.structured`), or None.
        react: How an answer is read whose calls are text (see `llmneutral.convert.react`), or None.
    """

    api: str
    payload: JSONObject
    changes: tuple[Change, ...]
    names: ToolNames
    headers: dict[str, str]
    open_calls: tuple[str, ...]
    endpoint: tuple[str, str]
    trace: dict[str, tuple[Ref, ...]] | None
    target: Target
    wire: Wire
    answer: Any = None
    react: Form | None = None

    def to_json(self) -> JSONObject:
        """Returns the payload as plain JSON data: bytes as base64, the REST spelling, `extra_body` merged in."""
        return self.wire(self.payload, None)

    def __repr__(self) -> str:
        """Shows counts, not contents."""
        changes = f"{len(self.changes)} change{'' if len(self.changes) == 1 else 's'}"
        return f"Conversion({self.api}, {changes}, {' '.join(self.endpoint)})"


def plain_wire(payload: JSONObject, trace: Trace | None) -> JSONObject:
    """The wire form of an API whose SDK takes the JSON body itself: `extra_body` is merged in, last."""
    extra = payload.get("extra_body")
    if extra is None:
        return payload
    merged = {key: value for key, value in payload.items() if key != "extra_body"}
    if trace is not None:
        for key in merged.keys() - extra.keys():
            trace.alias_key(payload, key, merged, key)
    merged.update(extra)  # in place: the marks are on this very object
    return merged


def into_extra_body(payload: JSONObject, extra: JSONObject) -> None:
    """Puts the setting `extra_body` where the SDKs of OpenAI and Anthropic take it: in the keyword of this name."""
    payload["extra_body"] = {**payload.get("extra_body", {}), **extra}


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """How one API mode is spoken.

    Attributes:
        api_mode: The name it is registered under.
        doc: Where the provider documents the API.
        passes: Rewrites of the messages, in order.
        blocks: One function per kind of block: content → JSON; total.
        tool: Tool definition, native name → JSON.
        params: Neutral settings → payload keys.
        frame: Messages after the passes → payload.
        names: What a native tool name may be.
        ids: What the id of a call may be.
        endpoint: HTTP method and path of a target.
        read_request: A request body → PromptStack.
        read: A whole answer → calls on a Reader.
        chunk: One chunk of a stream → calls on a Reader.
        finish: The provider's finish reasons.
        usage: The provider's usage object → Usage.
        wire: Payload → plain JSON in the REST spelling.
        extra: Puts the setting `extra_body` into a payload, where the SDK takes it: `(payload, extra)`.
        settle: The finish reason in the end, where the table is not enough.
        any_answer_root: Whether the API's own field takes the schema of an answer that is no object as it is.
    """

    api_mode: str
    doc: str
    passes: tuple[Pass, ...]
    blocks: Mapping[type, BlockWriter]
    tool: Callable[[ToolDefinition, str, Job], JSONObject]
    params: Mapping[str, Param]
    frame: Callable[[Messages, Job], JSONObject]
    names: NameRule
    ids: IdRule
    endpoint: Callable[[Target], tuple[str, str]]
    read_request: Callable[[JSONObject], PromptStack]
    read: Callable[[Any, Reader], None]
    chunk: Callable[[Any, Reader], None]
    finish: Mapping[str, FinishReason]
    usage: Callable[[JSONObject], Usage]
    wire: Wire = plain_wire
    extra: Callable[[JSONObject, JSONObject], None] = into_extra_body
    settle: Callable[[Reader, FinishReason | None], FinishReason | None] | None = None
    any_answer_root: bool = False

    def convert(
        self,
        messages: Sequence[Message],
        target: Target,
        *,
        tools: Iterable[Any] = (),
        trace: bool = False,
        first: tuple[Pass, ...] = (),
    ) -> Conversion:
        """Turns messages and tools into a request.

        Args:
            messages: The messages as the caller gave them.
            target: Where the request goes.
            tools: Functions, `Tool` objects, OpenAI-format dicts or definitions.
            trace: Whether to tell which block became which JSON node.
            first: Passes before the transport's own (a structured-output plan).

        Raises:
            ConversionError: If they cannot be sent to this API, naming message, block, rule and API.
        """
        job = self._run(messages, target, tools, trace, first)
        job.note.step = "frame"
        payload = self.frame(job.messages, job)
        if (extra := target.settings.get("extra_body")) is not None:
            self.extra(payload, extra)
        job.check_strict()
        pointers = None
        if job.trace is not None:
            pointers = job.trace.pointers(self.wire(payload, job.trace))
        return Conversion(
            self.api_mode,
            payload,
            tuple(job.note.changes),
            job.names,
            job.headers,
            job.open_calls,
            self.endpoint(target),
            pointers,
            target,
            self.wire,
            react=job.react,
        )

    def _run(
        self,
        messages: Sequence[Message],
        target: Target,
        tools: Iterable[Any],
        trace: bool,
        first: tuple[Pass, ...] = (),
    ) -> Job:
        """Runs the passes; the job that comes back holds the messages to be framed."""
        job = Job(self, list(messages), definitions(tools), target, trace)
        if job.look(job.messages).has_repeated_blocks:
            job = Job(self, apart(messages), job.tools, target, trace)
        _check_roles(job)
        for step in first:
            job.note.step = step.name
            job.messages = step.run(job.messages, job)
        job.note.step = "tool_names"
        job.tools, names = self.names.table(job)
        job.names = names if job.react is None else job.react.names
        for step in self.passes:
            if step.when is None or not step.when.isdisjoint(job.look(job.messages).kinds):
                job.note.step = step.name
                job.messages = step.run(job.messages, job)
        return job

    def convert_messages(self, messages: Iterable[Any], **settings: Any) -> Any:
        """Returns the messages part of a request; `messages` in OpenAI's format or neutral."""
        payload = self.build_kwargs(settings.pop("model", None), messages, **settings)
        found = {key: payload[key] for key in MESSAGES_KEYS if key in payload}
        if (instructions := payload.get("config", {}).get("system_instruction")) is not None:
            found["config"] = {"system_instruction": instructions}  # Gemini's stand there
        return found

    def convert_tools(self, tools: Iterable[Any]) -> list[JSONObject]:
        """Returns the tools in this API's form."""
        job = self._run([], Target(self.api_mode, profile(self.api_mode)), tools, trace=False)
        return written_tools(job)

    def build_kwargs(self, model: str | None, messages: Iterable[Any], tools: Any = None, **params: Any) -> JSONObject:
        """Returns the complete keyword arguments of the SDK's call."""
        from llmneutral.ir.wire import from_openai

        target = Target(
            self.api_mode, profile(self.api_mode, model=model), model=model, settings=canonical_settings(params)
        )
        return self.convert(from_openai(messages), target, tools=tools or ()).payload

    def normalize_response(
        self,
        response: Any,
        *,
        names: Any = None,
        host: str | None = None,
        facts: Profile | None = None,
        model: str | None = None,
        react: Form | None = None,
    ) -> NormalizedResponse:
        """Reads a whole answer (the body as a dict)."""
        normalizer = self.stream(names=names, host=host, facts=facts, model=model, react=react)
        normalizer.whole(response)
        normalizer.close()
        return normalizer.response

    def stream(
        self,
        *,
        names: Any = None,
        host: str | None = None,
        facts: Profile | None = None,
        model: str | None = None,
        react: Form | None = None,
    ) -> StreamNormalizer:
        """Returns a normaliser for one stream: feed it chunks, close it, take its response.

        Args:
            names: The native names of the request's tools.
            host: Host that answers.
            facts: The profile of the model that answers.
            model: The model that was asked, for APIs whose answers do not name theirs (Bedrock).
            react: How an answer is read whose calls are text (`Conversion.react`).
        """
        return StreamNormalizer(
            self.api_mode,
            chunk=self.chunk,
            read=self.read,
            finish=self.finish,
            usage=self.usage,
            settle=self.settle,
            names=names,
            host=host,
            facts=facts,
            model=model,
            react=react,
        )


def _check_roles(job: Job) -> None:
    if ROLES.issuperset(job.look(job.messages).roles):
        return
    place, message = next((i, m) for i, m in enumerate(job.messages) if m.role not in ROLES)
    known = "system, developer, user, assistant; results of tools stand in a message of the user"
    job.refuse(f"messages[{place}] has the role {message.role!r}; known: {known}", *message.content, rule="roles")


def written_tools(job: Job) -> list[JSONObject]:
    """Returns the tools of a job in its API's form, each by its native name."""
    before, job.note.step = job.note.step, "tools"
    written = [job.transport.tool(tool, job.names.native(tool.name, tool.path), job) for tool in job.tools]
    job.note.step = before
    return written
