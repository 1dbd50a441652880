"""Mistral's Chat by the `mistralai` SDK.

The SDK checks and sends the request; answers are read from its HTTP responses, so that nothing its types do not know is
lost. Docs: docs.mistral.ai/api, github.com/mistralai/client-python
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.call import Body
from llmneutral.drivers.http_answers import AsyncChunks, Chunks, read_body
from llmneutral.drivers.sdk_calls import SdkPromptDriver, Watched
from llmneutral.errors import ConversionError, provider_error, read_error_body

OFFICIAL = "https://api.mistral.ai"


class MistralPromptDriver(SdkPromptDriver):
    """The `mistralai` SDK as the wire of a driver."""

    sdk = "mistralai.client"
    package = "mistralai"
    extra = "mistral"
    address_variable = ""
    key_variable: str | None = "MISTRAL_API_KEY"

    def __init__(self, model: str | None = None, **options: Any) -> None:
        at_home = options if options.get("base_url") or options.get("provider") else {**options, "provider": "mistral"}
        super().__init__(model, **{"api_mode": "mistral_chat", **at_home})

    def client_base_url(self) -> str | None:
        """The client appends `/v1/chat/completions` itself, so a trailing `/v1` goes."""
        return (super().client_base_url() or OFFICIAL).rstrip("/").removesuffix("/v1")

    def sdk_client(self, module: Any, key: str, address: str | None, http: Any, *, asynchronous: bool) -> Any:
        """Returns the SDK's client; it has no retries unless it is told to."""
        return module.Mistral(api_key=key, server_url=address, **{"async_client" if asynchronous else "client": http})

    def ask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """Calls the SDK for a whole answer."""
        call = client.chat.complete
        arguments = _arguments(call, conversion)
        try:
            answer = call(**arguments)
        except Exception as error:
            if (body := _untyped(error)) is None:
                raise
            return body
        return _body(answer, watched)

    async def aask(self, client: Any, conversion: Conversion, watched: Watched) -> Any:
        """The async twin of `ask`."""
        call = client.chat.complete_async
        arguments = _arguments(call, conversion)
        try:
            answer = await call(**arguments)
        except Exception as error:
            if (body := _untyped(error)) is None:
                raise
            return body
        return _body(answer, watched)

    def begin(self, client: Any, conversion: Conversion, watched: Watched) -> Iterator[Any]:
        """Calls the SDK for a stream, and reads the bytes of its response."""
        call = client.chat.stream
        arguments = _arguments(call, conversion)
        try:
            opened = call(**arguments)
        except Exception as error:
            if (failure := _unread(error, watched)) is None:
                raise
            raise failure from None
        return Chunks(opened.response, self.translated)

    async def abegin(self, client: Any, conversion: Conversion, watched: Watched) -> AsyncIterator[Any]:
        """The async twin of `begin`."""
        call = client.chat.stream_async
        arguments = _arguments(call, conversion)
        try:
            opened = await call(**arguments)
        except Exception as error:
            if (failure := _unread(error, watched)) is None:
                raise
            raise failure from None
        return AsyncChunks(opened.response, self.translated)


def _arguments(call: Callable[..., Any], conversion: Conversion) -> dict[str, Any]:
    """The keyword arguments of a call.

    Raises:
        ConversionError: If the SDK has no such argument.
    """
    arguments = {**conversion.payload}
    unknown = arguments.keys() - inspect.signature(call).parameters.keys()
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ConversionError(
            f"the mistralai SDK takes no argument {names}",
            rule="sdk",
            api=conversion.api,
            hint="Leave it out of extra_body, or speak to the same models by chat_completions, which takes it.",
        )
    if conversion.headers:
        arguments["http_headers"] = conversion.headers
    return arguments


def _untyped(error: Exception) -> Any:
    """Returns an answer that only the SDK's types refuse; None for any other error."""
    response = getattr(error, "raw_response", None)
    if type(error).__name__ != "ResponseValidationError" or response is None or response.status_code >= 400:
        return None
    return read_body(response.content, response)


def _unread(error: Exception, watched: Watched) -> Exception | None:
    """Returns the error of an answer without a body, which the SDK fails to make; None for any other error."""
    response = watched.response
    if type(error).__name__ != "ResponseNotRead" or response is None:
        return None
    return provider_error(**read_error_body("", response.status_code, dict(response.headers), now=time.time()))


def _body(answer: Any, watched: Watched) -> Any:
    if watched.response is not None:
        return read_body(watched.response.content, watched.response)
    return Body(answer.model_dump(mode="json", by_alias=True, exclude_unset=True))
