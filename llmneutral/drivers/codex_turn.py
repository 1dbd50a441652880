"""One turn of a codex thread: its notifications as neutral deltas, its failures in the taxonomy's terms.

Source: https://developers.openai.com/codex/app-server, and the schema that `codex app-server generate-json-schema`
prints (0.171.0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llmneutral.errors import ProviderError, classify, provider_error
from llmneutral.ir import contents as c
from llmneutral.ir import deltas as d
from llmneutral.ir.deltas import DeltaMessage
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.responses import Usage

Deltas = Iterator[DeltaMessage]

KINDS = {
    "contextWindowExceeded": "context_length_error",
    "sessionBudgetExceeded": "rate_limit_error",
    "usageLimitExceeded": "rate_limit_error",
    "rateLimitExceeded": "rate_limit_error",
    "flexUnavailable": "overloaded_error",
    "serverOverloaded": "overloaded_error",
    "policyCapacityUnavailable": "overloaded_error",
    "modelNotFound": "not_found_error",
    "cyberPolicy": "content_filter_error",
    "bioPolicy": "content_filter_error",
    "misalignmentPolicyViolation": "content_filter_error",
    "inferenceHookDenied": "permission_error",
    "unauthorized": "authentication_error",
    "badRequest": "invalid_request_error",
    "httpConnectionFailed": "connection_error",
    "responseStreamConnectionFailed": "connection_error",
    "responseStreamDisconnected": "stream_interrupted",
}
"""codexErrorInfo → the taxonomy; what is not here (internalServerError, sandboxError, other …) is a server_error."""
BY_STATUS = frozenset({"httpConnectionFailed", "responseStreamConnectionFailed", "responseTooManyFailedAttempts"})
"""Failures that are what their HTTP status says, where there is one."""


def turn_error(facts: Any) -> ProviderError:
    """Returns the error of a turn; it is never retryable, as codex has tried again itself.

    Args:
        facts: `{message, codexErrorInfo?, additionalDetails?}`.
    """
    facts = facts if isinstance(facts, dict) else {}
    info = facts.get("codexErrorInfo")
    name, status = _named(info)
    kind = KINDS.get(name[:1].lower() + name[1:], "server_error")
    if status is not None and name in BY_STATUS:
        kind = classify(status=status, message=_message(facts))
    return provider_error(kind, _message(facts), status=status, raw_type=name or None, retryable=False)


def _named(info: Any) -> tuple[str, int | None]:
    """The name in a codexErrorInfo, which is a word or an object of one key, and the HTTP status in it."""
    if isinstance(info, str):
        return info, None
    if isinstance(info, dict) and info:
        name, more = next(iter(info.items()))
        status = more.get("httpStatusCode") if isinstance(more, dict) else None
        return name, status if isinstance(status, int) else None
    return "", None


def _message(facts: JSONObject) -> str:
    said = [str(facts[name]) for name in ("message", "additionalDetails") if facts.get(name)]
    return "; ".join(said) or "the turn failed, and codex gave no reason"


class TurnReader:
    """Reads the notifications of one turn.

    Args:
        model: Model that was asked for.
        spent: The thread's token counts before this turn.

    Attributes:
        turn_id: Id of the turn, once it is known.
        model: Model that answers.
        spent: The thread's token counts so far.
        texts: The answer's texts, one an item, as the thread keeps them.
        status: How the turn ended (completed, interrupted, failed), or None.
        error: What codex gave as the reason of a failure.
    """

    def __init__(self, model: str | None, spent: JSONObject) -> None:
        self.turn_id: str | None = None
        self.model = model
        self.before = spent
        self.spent = spent
        self.texts: dict[str, str] = {}
        self.status: str | None = None
        self.error: Any = None
        self._started = False
        self._slots: dict[tuple[str, str], int] = {}
        self._parts: dict[str, Any] = {}
        self._keys: dict[str, str] = {}

    def read(self, message: JSONObject) -> list[DeltaMessage]:
        """Returns the deltas of a notification; one that is not known gives none."""
        params = message.get("params")
        rule = READERS.get(str(message.get("method")))
        if rule is None or not isinstance(params, dict) or self._is_foreign(params):
            return []
        deltas = list(rule(self, params))
        if deltas and not self._started:
            self._started = True
            deltas.insert(0, DeltaMessage("start", id=self.turn_id, model=self.model))
        return deltas

    def _is_foreign(self, params: JSONObject) -> bool:
        """Whether a notification is about another turn of the thread."""
        turn = params.get("turnId")
        return turn is not None and self.turn_id is not None and turn != self.turn_id

    def _slot(self, item: str, kind: str) -> int:
        return self._slots.setdefault((item, kind), len(self._slots))

    @property
    def _origin(self) -> c.Origin:
        return c.Origin("codex_app_server", self.model)

    # --- by notification --------------------------------------------------------------------------

    def turn_started(self, params: JSONObject) -> Deltas:
        """The id of the turn."""
        self.turn_id = self.turn_id or params["turn"].get("id")
        return iter(())

    def item_started(self, params: JSONObject) -> Deltas:
        """An item begins; ids are the model provider's, who may use one again for the next answer of the turn."""
        name = str(params["item"].get("id"))
        again = self._keys.get(name)
        self._keys[name] = name if again is None else f"{again}+"
        return iter(())

    def _key(self, name: Any) -> str:
        return self._keys.setdefault(str(name), str(name))

    def text(self, params: JSONObject) -> Deltas:
        """A piece of the answer."""
        return self._written(self._key(params["itemId"]), str(params["delta"]))

    def _written(self, item: str, piece: str) -> Deltas:
        if piece:
            self.texts[item] = self.texts.get(item, "") + piece
            yield DeltaMessage("text", d.TextDeltaMessageContent(piece, index=self._slot(item, "text")))

    def summary(self, params: JSONObject) -> Deltas:
        """A piece of the summary of the reasoning."""
        return self._thought(params, "summary", params.get("summaryIndex"))

    def raw_thinking(self, params: JSONObject) -> Deltas:
        """A piece of the reasoning itself, of open models."""
        return self._thought(params, "content", params.get("contentIndex"))

    def _thought(self, params: JSONObject, kind: str, part: Any) -> Deltas:
        item, piece = self._key(params["itemId"]), str(params["delta"])
        before = self._parts.get(item + kind)
        if before is not None and before != part:
            piece = "\n\n" + piece
        self._parts[item + kind] = part
        if piece:
            yield DeltaMessage("thinking", d.ThinkingDeltaMessageContent(piece, index=self._slot(item, kind)))

    def item_done(self, params: JSONObject) -> Deltas:
        """An item is complete: what it says of itself stands."""
        item = params["item"]
        kind, name = item.get("type"), self._key(item.get("id"))
        if kind == "userMessage":
            return
        if kind == "agentMessage":
            yield from self._message_done(name, str(item.get("text") or ""))
        elif kind == "reasoning":
            yield from self._reasoning_done(name, item)
        else:
            yield _done(self._slot(name, "item"), c.GenericMessageContent(value=item, origin=self._origin))

    def _message_done(self, name: str, text: str) -> Deltas:
        streamed = self.texts.get(name, "")
        if not streamed and text:
            yield from self._written(name, text)
            streamed = text
        self.texts[name] = text
        if text or streamed:
            yield _done(self._slot(name, "text"), None if text == streamed else c.TextMessageContent(text))

    def _reasoning_done(self, name: str, item: JSONObject) -> Deltas:
        for kind in ("summary", "content"):
            parts = [str(part) for part in item.get(kind) or [] if part]
            if (name, kind) in self._slots or (parts and kind == "summary") or (parts and not item.get("summary")):
                text = "\n\n".join(parts)
                summary = tuple(parts) if kind == "summary" and parts else None
                value = c.ThinkingMessageContent(text, summary=summary, origin=self._origin) if parts else None
                yield _done(self._slot(name, kind), value)

    def usage(self, params: JSONObject) -> Deltas:
        """Token counts: those of the thread, less what it had used before this turn."""
        total = params["tokenUsage"]["total"]
        self.spent = {name: value for name, value in total.items() if isinstance(value, int)}
        yield DeltaMessage("usage", usage=usage_of({k: v - self.before.get(k, 0) for k, v in self.spent.items()}))

    def rerouted(self, params: JSONObject) -> Deltas:
        """Another model answers."""
        self.model = params.get("toModel") or self.model
        return iter(())

    def failed(self, params: JSONObject) -> Deltas:
        """A failure; codex may try again by itself."""
        if not params.get("willRetry"):
            self.error = params.get("error")
        return iter(())

    def turn_done(self, params: JSONObject) -> Deltas:
        """The turn is over."""
        turn = params["turn"]
        if self.turn_id is not None and turn.get("id") != self.turn_id:
            return
        self.status = str(turn.get("status"))
        self.error = turn.get("error") or self.error
        if self.status == "completed":
            yield DeltaMessage("finish", finish_reason="stop", raw_finish_reason="completed")


def _done(index: int, value: Any) -> DeltaMessage:
    return DeltaMessage("block_done", d.DoneDeltaMessageContent(index=index, value=value))


def usage_of(counts: JSONObject) -> Usage:
    """Returns codex' counts; its input holds what was read from a cache, its output the reasoning, as OpenAI's do."""
    total, read, written = (counts.get(k) for k in ("inputTokens", "cachedInputTokens", "cacheWriteInputTokens"))
    return Usage(
        input_total=total,
        input_uncached=None if total is None else max(0, total - (read or 0) - (written or 0)),
        cache_read=read,
        cache_write=written,
        output_total=counts.get("outputTokens"),
        reasoning=counts.get("reasoningOutputTokens"),
        total=counts.get("totalTokens"),
        raw=counts,
    )


READERS: dict[str, Callable[[TurnReader, JSONObject], Deltas]] = {
    "turn/started": TurnReader.turn_started,
    "item/started": TurnReader.item_started,
    "item/agentMessage/delta": TurnReader.text,
    "item/reasoning/summaryTextDelta": TurnReader.summary,
    "item/reasoning/textDelta": TurnReader.raw_thinking,
    "item/completed": TurnReader.item_done,
    "thread/tokenUsage/updated": TurnReader.usage,
    "model/rerouted": TurnReader.rerouted,
    "error": TurnReader.failed,
    "turn/completed": TurnReader.turn_done,
}
"""Who reads what; everything else is progress that no message holds."""
