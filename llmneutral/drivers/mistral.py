"""Mistral's Chat by the `mistralai` SDK.

The SDK's public methods make their types anew for each call and check every message against them. So a request goes by
the methods below them, where the SDK has them with the known signature: they keep addresses, authentication and hooks.
Answers are read from the HTTP responses, so that nothing the types do not know is lost.
Docs: docs.mistral.ai/api, github.com/mistralai/client-python
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.call import Body
from llmneutral.drivers.http_answers import AsyncChunks, Chunks, read_body
from llmneutral.drivers.sdk_calls import SdkPromptDriver, Watched
from llmneutral.errors import ConversionError, provider_error, read_error_body
from llmneutral.ir.jsontext import dumps

OFFICIAL = "https://api.mistral.ai"
CHAT = "mistralai.client.chat"
"""Where the class of `client.chat` stands; those of Azure and Google's cloud have other addresses."""
OK = 200
TIMEOUT = 300_000
"""Milliseconds, as the SDK's own methods have it; our HTTP client sets limits of its own."""
OPERATIONS = {False: "chat_completion_v1_chat_completions_post", True: "stream_chat"}
"""What hooks know the methods by."""
RAW_BUILD = tuple(
    "method path base_url url_variables request request_body_required request_has_path_params request_has_query_params"
    " user_agent_header accept_header_value _globals security timeout_ms get_serialized_body url_override http_headers"
    " allow_empty_value allowed_fields".split()
)
RAW_SEND = ("hook_ctx", "request", "is_error_status_code", "stream", "retry_config")


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
        if (raw := raw_request(client.chat, conversion, stream=False)) is not None:
            return _whole(client.chat.do_request(**raw))
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
        if (raw := raw_request(client.chat, conversion, stream=False, asynchronous=True)) is not None:
            return _whole(await client.chat.do_request_async(**raw))
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
        if (raw := raw_request(client.chat, conversion, stream=True)) is not None:
            response = client.chat.do_request(**raw)
            if response.status_code != OK:
                response.read()
                raise _failure(response)
            return Chunks(response, self.translated)
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
        if (raw := raw_request(client.chat, conversion, stream=True, asynchronous=True)) is not None:
            response = await client.chat.do_request_async(**raw)
            if response.status_code != OK:
                await response.aread()
                raise _failure(response)
            return AsyncChunks(response, self.translated)
        try:
            opened = await call(**arguments)
        except Exception as error:
            if (failure := _unread(error, watched)) is None:
                raise
            raise failure from None
        return AsyncChunks(opened.response, self.translated)


def raw_request(
    chat: Any, conversion: Conversion, *, stream: bool, asynchronous: bool = False
) -> dict[str, Any] | None:
    """Returns the arguments of the SDK's method that sends a request it is given.

    None where the typed method has to be called: this SDK is not the known one, the client is that of another cloud, or
    it was told to ask again by itself.

    Args:
        chat: The SDK's `client.chat`.
        conversion: The request.
        stream: Whether the answer is streamed.
        asynchronous: Whether the async methods are called.
    """
    ending, config, sdk = "_async" if asynchronous else "", _config(chat), _below()
    build: Any = getattr(chat, f"_build_request{ending}", None)
    found = type(chat).__module__, _parameters(build), _parameters(getattr(chat, f"do_request{ending}", None))
    if sdk is None or found != (CHAT, RAW_BUILD, RAW_SEND) or isinstance(config.retry_config, sdk.retries):
        return None
    body = dumps({**conversion.to_json(), "stream": stream}).encode()
    request = build(
        method="POST",
        path=conversion.endpoint[1] + ("#stream" if stream else ""),
        base_url=None,
        url_variables=None,
        request=None,
        request_body_required=True,
        request_has_path_params=False,
        request_has_query_params=False,
        user_agent_header="user-agent",
        accept_header_value="text/event-stream" if stream else "application/json",
        http_headers=conversion.headers or None,
        security=config.security,
        get_serialized_body=lambda: sdk.body("application/json", body),
        timeout_ms=config.timeout_ms or TIMEOUT,
    )
    context = sdk.context(
        config=config,
        base_url=chat._get_url(None, None),
        operation_id=OPERATIONS[stream],
        oauth2_scopes=None,
        security_source=sdk.security(config.security, sdk.kind),
        tags=["chat"],
        extensions=None,
    )
    return {"hook_ctx": context, "request": request, "is_error_status_code": _is_error, "stream": stream}


def _config(chat: Any) -> Any:
    return getattr(chat, "sdk_configuration", None)


class _Below(NamedTuple):
    """What the SDK's methods are made of."""

    body: Any
    context: Any
    retries: Any
    security: Any
    kind: Any


@cache
def _below() -> _Below | None:
    try:
        base = import_module("mistralai.client.basesdk")
        models, utils = base.models, base.utils
        return _Below(
            base.SerializedRequestBody,
            base.HookContext,
            utils.RetryConfig,
            utils.get_security_from_env,
            models.Security,
        )
    except (ImportError, AttributeError):  # another SDK than the known one
        return None


def _is_error(status: int) -> bool:
    return status >= 400


def _parameters(method: Any) -> tuple[str, ...]:
    return _signature(getattr(method, "__func__", None))[1:]


@cache
def _signature(function: Any) -> tuple[str, ...]:
    return () if function is None else tuple(inspect.signature(function).parameters)


def _whole(response: Any) -> Any:
    if response.status_code != OK:
        raise _failure(response)
    return read_body(response.content, response)


def _failure(response: Any) -> Exception:
    """The error that an answer stands for, as the SDK tells it too."""
    return provider_error(
        **read_error_body(response.text, response.status_code, dict(response.headers), now=time.time())
    )


def _arguments(call: Callable[..., Any], conversion: Conversion) -> dict[str, Any]:
    """The keyword arguments of a call.

    Raises:
        ConversionError: If the SDK has no such argument.
    """
    arguments = {**conversion.payload}
    unknown = arguments.keys() - set(_parameters(call) or inspect.signature(call).parameters)
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
