"""One question and its answer: what a magic returns, and what a notebook keeps.

What must live here: the value, and its JSON. The JSON holds only what this turn added: the history is the chain of
`parent`, so a notebook of n turns stays linear in n. Nothing here shows anything or asks anybody.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets as random
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, Self

import msgspec

from llmneutral_widgets import limits, scrub
from llmneutral_widgets.views.answer import comparison_page, maker, summary_line
from llmneutral_widgets.views.page import View
from llmneutral_widgets.views.usage import COUNTS, tokens_per_second

SCHEMA = 1
"""Number of the form of the JSON. New keys keep it; a changed meaning takes a new MIME type."""
MIME = "application/vnd.llmneutral.exchange.v1+json"

Status = Literal["complete", "interrupted", "incomplete", "failed", "refused", "dry_run"]


class SchemaError(ValueError):
    """The saved exchange is none that this version reads."""


class KeptChange(msgspec.Struct, frozen=True):
    """A change of a conversion, and the API it was made for."""

    api: str
    step: str
    kind: str
    refs: tuple[tuple[int, int], ...] = ()
    why: str = ""
    doc: str | None = None


class Request(msgspec.Struct, frozen=True, eq=False):
    """One request of a question; there are several where calls were run, or an answer did not fit its form.

    Attributes:
        conversion: The `Conversion` that was sent; None where the driver makes its own.
        stack: The `PromptStack` it was made of; None where what a repair added is not kept (`--set keep_repairs=true`).
        deltas: The recording of its answer's stream, as of `Exchange`.
        is_repair: Whether it asks once more for an answer that fits.
        lost_chunks: How many chunks came beside those of the recording, which keeps only so many.
    """

    conversion: Any = None
    stack: Any = None
    deltas: Sequence[Any] = ()
    is_repair: bool = False
    lost_chunks: int = 0


class Exchange(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One question and its answer.

    Attributes:
        id: `x-` and eight hexadecimal digits.
        status: How it ended.
        parent: The exchange before it in the conversation.
        cell_id: The notebook cell that made it; None in terminals.
        name: Name of the conversation.
        created: When it was asked, in ISO 8601 (UTC).
        provider: Who was asked.
        api: The API mode.
        model: The model that was asked for.
        answered_by: The model as the provider names it.
        settings: The neutral settings of the call.
        history: `messages`: how many earlier messages went along; `sent`: whether this exchange is sent later on.
        messages: What this turn added before the answer: `Message` values, or their JSON.
        tools: Definitions of the tools, in OpenAI's format, or what is kept of them (name and digest).
        output_schema: JSON Schema of the answer.
        response: The `NormalizedResponse`, or its JSON; None where there is none.
        rounds: Messages between the question and the answer: calls that were run, and their results, in order; and
            with `keep_repairs` answers that did not fit, and what was said to them.
        calls: Each call of the model with its tokens, times and cost, where there were several; `response.usage` is
            then their sum.
        conversions: API mode -> `Conversion`; the first is the one that was sent.
        changes: What the conversions changed; taken from them where it is not given.
        payloads: API mode -> payload as JSON, for what was only converted (dry run, comparison).
        payload_sha256: Digest of the payload that was sent.
        cost: `amount`, `currency`, `source`.
        timing: `first_delta_s`, `total_s` (seconds), `attempts`.
        error: The exception, or its JSON.
        cut: What was too big to be kept.
        stack: The `PromptStack` that was sent, history included; only while the kernel lives.
        deltas: The recording of the last answer's stream: `(seconds, chunk, deltas)`; only while the kernel lives.
        lost_chunks: As of `Request`.
        requests: Each request with its recording, in order; only of the last exchange, and while the kernel lives.
        execution_count: The execution that made it, which shows it by itself.
    """

    id: str
    status: Status
    parent: str | None = None
    cell_id: str | None = None
    name: str = "default"
    created: str | None = None
    provider: str | None = None
    api: str | None = None
    model: str | None = None
    answered_by: str | None = None
    settings: Mapping[str, Any] = {}
    history: Mapping[str, Any] = {}
    messages: Sequence[Any] = ()
    tools: Sequence[Any] = ()
    output_schema: Any = None
    response: Any = None
    rounds: Sequence[Any] = ()
    calls: Sequence[Mapping[str, Any]] = ()
    conversions: Mapping[str, Any] = {}
    changes: tuple[KeptChange, ...] = ()
    payloads: Mapping[str, Any] | None = None
    payload_sha256: str | None = None
    cost: Mapping[str, Any] = {}
    timing: Mapping[str, Any] = {}
    error: Any = None
    cut: Sequence[Mapping[str, Any]] = ()
    stack: Any = None
    deltas: Sequence[Any] = ()
    lost_chunks: int = 0
    requests: Sequence[Request] = ()
    execution_count: int | None = None

    def __post_init__(self) -> None:
        if not self.changes and self.conversions:
            msgspec.structs.force_setattr(self, "changes", changes_of(self.conversions))

    # ------------------------------------------------------------------------------------------------------------------
    # The answer

    @property
    def text(self) -> str:
        """The text of the answer; "" where there is none."""
        return str(_part(self.response, "text") or "")

    @property
    def message(self) -> Any:
        """The answer as a neutral `Message`, ready for a stack; None where there is none."""
        if not isinstance(self.response, Mapping):
            return _part(self.response, "message")
        return _messages([{"role": "assistant", "content": self.response.get("blocks") or []}])[0]

    @property
    def question(self) -> list[Any]:
        """What this turn added before the answer, as `Message` values."""
        return _as_messages(self.messages)

    @property
    def later(self) -> list[Any]:
        """The messages between the question and the answer, as `Message` values."""
        return _as_messages(self.rounds)

    @property
    def turn(self) -> list[Any]:
        """Everything this turn added to the conversation, as `Message` values: the answer comes last."""
        answer = self.message
        rest = [answer] if answer is not None and answer.content else []
        return [*self.question, *self.later, *rest]

    @property
    def parsed(self) -> Any:
        """The value of the answer, where an output schema was asked for."""
        return _part(self.response, "parsed")

    @property
    def usage(self) -> Any:
        """Token counts: a `Usage`, or from a file a dict; None where there is no answer."""
        return _part(self.response, "usage")

    @property
    def output_tokens(self) -> int | None:
        """Tokens of the answer; None where nobody told them."""
        found = _part(self.usage, "output_total")
        return found if isinstance(found, int) else None

    @property
    def conversion(self) -> Any:
        """The `Conversion` that was sent; only while the kernel lives."""
        return next(iter(self.conversions.values()), None)

    @property
    def payload(self) -> Any:
        """What was sent as the request body; from a file only what a dry run kept."""
        if self.conversion is not None:
            return self.conversion.payload
        return next(iter((self.payloads or {}).values()), None)

    def to_notebook(self, style: Literal["prompt", "markdown"] = "prompt") -> Any:
        """Returns this exchange, and what was sent along with it, as a notebook.

        Args:
            style: As for `conversation_to_notebook`.
        """
        return import_module("llmneutral_widgets.ipynb.exports").notebook_of(self, style)  # which builds on this module

    def __repr__(self) -> str:
        text = scrub.current_secrets().text(self.text[:_SHOWN])  # before it is cut: half of a key is one, too
        said = f"{text[:60].replace(chr(10), ' ')}{'…' if len(text) > 60 else ''}" or self.status
        return f"<Exchange {self.id}: {scrub.plain(maker(self._told()))}: {said}>"

    def _told(self) -> dict[str, Any]:
        return {"provider": self.provider, "api": self.api, "model": self.model, "answered_by": self.answered_by}

    # ------------------------------------------------------------------------------------------------------------------
    # JSON

    def to_json(self, secrets: scrub.Secrets | None = None) -> dict[str, Any]:
        """Returns what is kept: plain JSON data with every key, without secrets and without big media.

        Args:
            secrets: What must not be kept; by default what is secret at this moment.
        """
        record = {
            "schema": SCHEMA,
            "id": self.id,
            "parent": self.parent,
            "cell_id": self.cell_id,
            "stack": self.name,
            "created": self.created,
            "status": self.status,
            "provider": self.provider,
            "api": self.api,
            "model": self.model,
            "answered_by": self.answered_by,
            "settings": self.settings,
            "history": {"messages": None, "sent": None, **self.history},
            "messages": self.messages,
            "tools": [tool_record(tool) for tool in self.tools],
            "output_schema": self.output_schema,
            "response": _response_record(self.response),
            "rounds": self.rounds,
            "calls": self.calls,
            "changes": self.changes,
            "payload": self._payload_record(),
            "payload_sha256": self.payload_sha256 or self._digest(),
            "cost": {"amount": None, "currency": None, "source": None, **self.cost},
            "timing": {"first_delta_s": None, "total_s": None, "attempts": None, **self.timing},
            "error": error_record(self.error),
        }
        cuts: list[scrub.Cut] = []
        kept = scrub.cut(_without_paths(scrub.builtin(record)), "", cuts)
        kept["cut"] = [*self.cut, *[found._asdict() for found in cuts]]
        cleaned: dict[str, Any] = scrub.clean(kept, secrets or scrub.current_secrets())
        return cleaned

    @classmethod
    def from_json(cls, record: Any) -> Self:
        """Reads what `to_json` made; unknown keys are ignored, absent ones are as if nothing was known.

        Raises:
            SchemaError: If it is no exchange, or one of a newer form.
        """
        if not isinstance(record, Mapping) or not isinstance(schema := record.get("schema"), int):
            raise SchemaError("this is no exchange of llmneutral: it has no schema")
        if schema > SCHEMA:
            raise SchemaError(f"written by a newer llmneutral (schema {schema})")
        given = {_FIELDS[key]: value for key, value in record.items() if key in _FIELDS and value is not None}
        given |= {"response": unfolded(given.get("response"))} if "response" in given else {}
        try:
            given["changes"] = msgspec.convert(given.get("changes", ()), tuple[KeptChange, ...])
            return msgspec.convert(given, cls)
        except msgspec.ValidationError as error:
            raise SchemaError(f"this is no exchange of llmneutral: {error}") from error

    def _payload_record(self) -> Any:
        """The payloads, where nothing was sent: what was sent can be made again from the messages."""
        if self.payloads is not None:
            return self.payloads
        if self.status == "dry_run" and self.conversions:
            return {api: conversion.to_json() for api, conversion in self.conversions.items()}
        return None

    def _digest(self) -> str | None:
        return None if self.conversion is None else payload_digest(self.conversion.to_json())


class Exchanges(list[Exchange]):
    """The answers of several models to the same question."""

    def compare(self) -> View:
        """Returns the answers side by side."""
        records = [exchange.to_json() for exchange in self]
        return View(comparison_page(records, limits.current()), "\n\n".join(map(summary_line, records)))


# ----------------------------------------------------------------------------------------------------------------------
# A long text is kept once

_SHOWN = 8_000
LONG = 2_000
"""Characters of an answer whose text is kept in its blocks alone."""


def folded(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON of an exchange as it is kept: the text of a long answer stands in its blocks, and only there."""
    response = record.get("response")
    if not isinstance(response, Mapping) or not isinstance(text := response.get("text"), str) or len(text) <= LONG:
        return dict(record)
    return {**record, "response": {**response, "text": None}} if _text_of_blocks(response) == text else dict(record)


def unfolded(response: Any) -> Any:
    """Returns an answer out of a file with its text, which may stand in its blocks alone."""
    if not isinstance(response, Mapping) or response.get("text") is not None:
        return response
    return {**response, "text": _text_of_blocks(response)}


def _text_of_blocks(response: Mapping[str, Any]) -> str:
    """The text of an answer, as `NormalizedResponse.text` tells it; a stranger's blocks may be anything."""
    given = response.get("blocks")
    told: list[str] = []
    for block in given if isinstance(given, (list, tuple)) else ():
        if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
            native = block.get("native")
            if not (isinstance(native, Mapping) and native.get("phase") == "commentary"):
                told.append(block["text"])
    return "".join(told)


# ----------------------------------------------------------------------------------------------------------------------
# Making one


def new_id() -> str:
    """Returns an id for an exchange."""
    return f"x-{random.token_hex(4)}"


def status_of(response: Any, error: BaseException | None = None) -> Status:
    """Returns how an exchange ended.

    Args:
        response: The answer, as far as it came; None where there is none.
        error: What ended it, if it was an error or an interrupt.
    """
    if isinstance(error, Exception):
        return "incomplete" if getattr(error, "type", None) == "stream_interrupted" else "failed"
    if error is not None:  # KeyboardInterrupt, cancellation: no errors, but ends
        return "interrupted"
    if _part(response, "error"):
        return "failed"
    if _part(response, "refusal") or _part(response, "finish_reason") == "refusal":
        return "refused"
    return "complete" if _part(response, "complete") else "incomplete"


def changes_of(conversions: Mapping[str, Any]) -> tuple[KeptChange, ...]:
    """Returns the changes of some conversions, each with its API mode."""
    return tuple([_kept(api, change) for api, conversion in conversions.items() for change in conversion.changes])


def _kept(api: str, change: Any) -> KeptChange:
    refs = tuple([(ref[0], ref[1]) for ref in change.refs])
    return KeptChange(api, change.step, change.kind, refs, change.why, change.doc)


def payload_digest(payload: Any) -> str:
    """Returns the SHA-256 of a payload (`Conversion.to_json()`), whatever the order of its keys."""
    written = json.dumps(scrub.builtin(payload), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def tool_record(tool: Any) -> dict[str, Any]:
    """Returns what is kept of a tool: its name, and the digest of its definition."""
    if not isinstance(tool, Mapping):
        return {"name": str(getattr(tool, "name", None) or getattr(tool, "__name__", tool)), "schema_sha256": None}
    if "schema_sha256" in tool:
        return {"name": tool.get("name"), "schema_sha256": tool["schema_sha256"]}
    given = tool.get("function", tool)
    name = given.get("name") if isinstance(given, Mapping) else None
    return {"name": name, "schema_sha256": payload_digest(given)}


def error_record(error: Any) -> dict[str, Any] | None:
    """Returns an exception as JSON data: what happened, where, and what to do."""
    if error is None or isinstance(error, Mapping):
        return None if error is None else dict(error)
    keys = ("type", "raw_type", "status", "retryable", "provider", "api", "model", "path", "request_id", "rule", "hint")
    told = {key: getattr(error, key, None) for key in keys}
    refs = [list(ref) for ref in getattr(error, "refs", None) or ()]
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return {"name": type(error).__name__, "message": message, **told, "refs": refs}


def usage_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a row for each call of an exchange (retries, repairs, tool rounds have their own), for `views.usage`.

    Beside the columns of the table a row has `prices`: where its cost is from.
    """
    if record.get("status") == "dry_run":
        return []
    base = {
        "time": record.get("created"),
        "stack": record.get("stack"),
        "cell": record.get("cell_id"),
        "provider": record.get("provider") or record.get("api"),
    }
    only = {**(record.get("response") or {}), **{key: record.get(key) for key in ("status", "timing", "cost")}}
    return [{**base, **_call_row(record, call)} for call in record.get("calls") or [only]]


def _call_row(record: Mapping[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
    usage, timing, cost = (call.get(key) or {} for key in ("usage", "timing", "cost"))
    counts = {key: usage.get(key) for key in COUNTS}
    first, total = timing.get("first_delta_s"), timing.get("total_s")
    return {
        "model": call.get("model") or record.get("answered_by") or record.get("model"),
        "status": str(call.get("status")),
        "finish_reason": call.get("finish_reason"),
        **counts,
        "first_delta_s": first,
        "total_s": total,
        "tokens_per_s": tokens_per_second(counts["output_total"], first, total),
        "cost": cost.get("amount"),
        "currency": cost.get("currency"),
        "prices": cost.get("source"),
    }


# ----------------------------------------------------------------------------------------------------------------------
# Parts

_FIELDS = {
    "id": "id",
    "parent": "parent",
    "cell_id": "cell_id",
    "stack": "name",
    "created": "created",
    "status": "status",
    "provider": "provider",
    "api": "api",
    "model": "model",
    "answered_by": "answered_by",
    "settings": "settings",
    "history": "history",
    "messages": "messages",
    "tools": "tools",
    "output_schema": "output_schema",
    "response": "response",
    "rounds": "rounds",
    "calls": "calls",
    "changes": "changes",
    "payload": "payloads",
    "payload_sha256": "payload_sha256",
    "cost": "cost",
    "timing": "timing",
    "error": "error",
    "cut": "cut",
}
"""Key of the JSON -> field of the value."""


def _part(response: Any, name: str) -> Any:
    return response.get(name) if isinstance(response, Mapping) else getattr(response, name, None)


def _response_record(response: Any) -> Any:
    return response.to_dict() if hasattr(response, "to_dict") else response


def _messages(given: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Messages from their JSON."""
    import llmneutral

    stack = llmneutral.PromptStack.from_json(json.dumps({"messages": list(given)}))
    return list(stack.messages)


def _as_messages(given: Iterable[Any]) -> list[Any]:
    """Messages, which from a file are their JSON."""
    import llmneutral

    found = list(given)
    return found if all([isinstance(message, llmneutral.Message) for message in found]) else _messages(found)


def _without_paths(record: Any) -> Any:
    """File names without the folders they lie in: a notebook tells nothing of the machine it was made on."""
    if isinstance(record, (list, tuple)):
        return [_without_paths(item) for item in record]
    if not isinstance(record, dict):
        return record
    kept = {key: _without_paths(value) for key, value in record.items()}
    if kept.get("type") == "document" and isinstance(kept.get("name"), str):
        kept["name"] = re.split(r"[\\/]", kept["name"])[-1]
    return kept
