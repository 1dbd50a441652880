"""A transport in the style of Hermes: a subclass of `ProviderTransport` that speaks OpenAI's format on its inner side.

Our own transports are values (`convert.transport`), because tables can be read, traced and reported. This class
is for whoever brings a subclass with the four methods: `register_transport(api_mode, TheClass)` and it serves
`convert`, `normalize` and the drivers. What it changes on the way it does not tell, so a conversion by it has no
changes of its own and no trace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from llmneutral.convert.job import Job, Messages, Target
from llmneutral.convert.names import IdRule, NameRule
from llmneutral.convert.neutral import read_message
from llmneutral.convert.params import chosen_tool, narrowed
from llmneutral.convert.settings import SETTINGS
from llmneutral.convert.stream import Reader
from llmneutral.convert.transport import Transport, written_tools
from llmneutral.errors import ConfigurationError, ConversionError
from llmneutral.errors.wording import a_kind
from llmneutral.ir.jsontext import JSONObject
from llmneutral.ir.responses import NormalizedResponse, Usage
from llmneutral.ir.stack import PromptStack
from llmneutral.ir.wire import to_openai

NOT_SETTINGS = frozenset(("stream", "tool_choice", "extra_body"))


class ProviderTransport(ABC):
    """Base class for conversion to a provider's form and back, with OpenAI's format as the inner one.

    It is asked for the data only: clients, streams, keys, retries and interrupts are a driver's.
    """

    @property
    @abstractmethod
    def api_mode(self) -> str:
        """The API mode this transport speaks."""

    @abstractmethod
    def convert_messages(self, messages: list[JSONObject], **kwargs: Any) -> Any:
        """Returns messages in OpenAI's format in the provider's own."""

    @abstractmethod
    def convert_tools(self, tools: list[JSONObject]) -> Any:
        """Returns tool definitions in OpenAI's format in the provider's own."""

    @abstractmethod
    def build_kwargs(
        self, model: str | None, messages: list[JSONObject], tools: list[JSONObject] | None = None, **params: Any
    ) -> JSONObject:
        """Returns the complete keyword arguments of the call.

        Args:
            model: The model.
            messages: All messages in OpenAI's format.
            tools: Tools in OpenAI's format, by their native names; None if there are none.
            **params: The neutral settings of the call (see `llmneutral.SETTINGS`).
        """

    @abstractmethod
    def normalize_response(self, response: Any, **kwargs: Any) -> NormalizedResponse:
        """Returns the provider's whole answer in the neutral form."""


def as_transport(given: ProviderTransport) -> Transport:
    """Returns the value that stands for such a transport in the registry."""

    def frame(messages: Messages, job: Job) -> JSONObject:
        params = _params(job)  # first: it may take tools away
        made = given.build_kwargs(job.target.model, to_openai(messages), written_tools(job) or None, **params)
        if not isinstance(made, dict):
            what = f"{type(given).__name__}.build_kwargs returned {a_kind(made)}"
            raise ConfigurationError(f"{what}; it has to return the keyword arguments of the call as a dict")
        return made

    def read(body: Any, reader: Reader) -> None:
        answer = given.normalize_response(body)
        if not isinstance(answer, NormalizedResponse):
            what = f"{type(given).__name__}.normalize_response returned {a_kind(answer)}"
            raise TypeError(f"{what}, not a NormalizedResponse")
        reader.start(answer.id, answer.model)
        read_message(answer.message, reader)
        reader.usage({"usage": answer.usage}, replace=True)
        if answer.finish_reason is not None:
            reader.finish(answer.raw_finish_reason, reason=answer.finish_reason, details=answer.details)
        for note in answer.notes:
            reader.note(note)

    return Transport(
        api_mode=given.api_mode,
        doc=type(given).__doc__ or "",
        passes=(),
        blocks={},
        tool=lambda tool, name, job: _named(tool.to_openai(), name),
        params={},
        frame=frame,
        names=NameRule(),
        ids=IdRule(),
        endpoint=_endpoint,
        read_request=_unread(given),
        read=read,
        chunk=read,
        finish={},
        usage=lambda raw: raw.get("usage") or Usage(),
    )


def _params(job: Job) -> JSONObject:
    """The neutral settings of a call, in the forms a caller would write them in."""
    given = job.target.settings
    params = {k: v for k, v in given.items() if k not in NOT_SETTINGS and k in SETTINGS and not SETTINGS[k].policy}
    choice = chosen_tool(job)
    if choice is not None and choice.mode == "allowed":
        choice = narrowed(choice, job)
    if choice is not None:
        params["tool_choice"] = choice.mode if choice.mode != "named" else _one_tool(choice.names[0], job)
    if (schema := job.target.output_schema) is not None:  # asked for in the API's own field: it may have one
        named = {"name": job.target.schema_name, "schema": schema}
        params["response_format"] = {"type": "json_schema", "json_schema": named}
    return params


def _one_tool(name: str, job: Job) -> JSONObject:
    tool = next(each for each in job.tools if name in (each.native_name, each.name))
    return {"type": "function", "function": {"name": job.names.native(tool.name, tool.path)}}


def _named(tool: JSONObject, name: str) -> JSONObject:
    if "function" not in tool:
        return tool
    return {**tool, "function": {**tool["function"], "name": name}}


def _endpoint(target: Target) -> tuple[str, str]:
    del target
    return ("POST", "/")


def _unread(given: ProviderTransport) -> Any:
    def read_request(payload: JSONObject) -> PromptStack:
        del payload
        raise ConversionError(
            f"{type(given).__name__} converts requests one way only; it reads none",
            rule="read_request",
            api=given.api_mode,
        )

    return read_request
