"""Amazon Bedrock's Converse by `boto3`.

The SDK validates the request, signs it and reads the event stream; async calls go through threads, because there is no
async client of the same version. Retries are off. Docs:
docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, and of the keys
docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

from llmneutral.convert.transport import Conversion
from llmneutral.drivers.aws import BEARER
from llmneutral.drivers.base import BasePromptDriver
from llmneutral.drivers.call import Body
from llmneutral.drivers.counting import is_count
from llmneutral.drivers.http_answers import is_event_stream
from llmneutral.drivers.importing import is_installed, sdk
from llmneutral.drivers.keys import ApiKey, is_local
from llmneutral.drivers.options import above_zero
from llmneutral.drivers.sdk_calls import refusal
from llmneutral.drivers.sdk_http import CONNECT, IDLE, READ, error_text, thinks
from llmneutral.errors import (
    ConfigurationError,
    ConversionError,
    LLMNeutralError,
    MalformedResponseError,
    exception_type,
    provider_error,
    read_error_body,
)
from llmneutral.profiles.hosts import is_bedrock_runtime, read_address

SERVICE = "bedrock-runtime"
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
LOCAL_REGION, LOCAL_KEY = "us-east-1", "none"
"""For a server on this machine, which wants a signed request and does not look at the signature."""


class BedrockPromptDriver(BasePromptDriver):
    """`boto3` as the wire of a driver. Credentials are those of AWS's own chain.

    Args:
        model: Id of the model, of an inference profile, or an ARN.
        region: Region; the session's, or AWS_REGION, unless given.
        session: A `boto3.Session` of the caller's.
        idle_timeout: Seconds a stream may be silent between two pieces; a client of the caller's keeps its own limits.
        **options: As for `BasePromptDriver`; `api_key` is a Bedrock API key, in place of AWS credentials. A `timeout`
            of a call is noticed when the next piece is due, at the latest after twice the time.
    """

    needs_model = True

    def __init__(
        self,
        model: str | None = None,
        *,
        region: str | None = None,
        session: Any = None,
        idle_timeout: float = IDLE,
        **options: Any,
    ) -> None:
        super().__init__(model, **{"api_mode": "bedrock_converse", "provider": "bedrock", **options})
        self.idle_timeout = above_zero("idle_timeout", idle_timeout)
        self.region = region
        host = read_address(self.base_url).host
        # A key is itself sent, not a signature: the environment's goes to Amazon only.
        self.api_key = ApiKey(options.get("api_key"), (BEARER,) if not host or is_bedrock_runtime(host) else ())
        self._session = session
        self._lock = threading.RLock()
        self._clients: dict[Any, Any] = {}

    # --- clients --------------------------------------------------------------------------------

    def session(self) -> Any:
        """Returns the session: the caller's, or one of AWS's own chain.

        Raises:
            ConfigurationError: If the profile that is asked for does not exist.
        """
        with self._lock:
            if self._session is None:
                boto3 = _boto3()
                try:
                    self._session = boto3.Session()
                except sdk("botocore.exceptions").BotoCoreError as error:
                    raise ConfigurationError(f"{type(self).__name__}: {error}", provider="bedrock") from None
            return self._session

    def client_region(self) -> str:
        """Returns the region of this moment.

        Raises:
            ConfigurationError: If there is none, naming the variable.
        """
        host = read_address(self.base_url).host
        found = self.region or (_region_in(host) if is_bedrock_runtime(host) else None)
        found = found or next((value for name in REGIONS if (value := os.environ.get(name))), None)
        found = found or self.session().region_name or (LOCAL_REGION if is_local(self.base_url) else None)
        if found is None:
            raise ConfigurationError(
                f"{type(self).__name__} has no region: {REGIONS[0]} is not set",
                provider="bedrock",
                hint=f"Give region='us-east-1', or set {REGIONS[0]}.",
            )
        return str(found)

    def require_key(self) -> None:
        """Raises where there is no region, or nothing to sign with.

        Raises:
            ConfigurationError: If so, naming the variables.
            MissingExtraError: If boto3 is not installed.
        """
        if self._client is not None:
            return
        if not is_installed("boto3"):
            _boto3()
        self.client_region()
        if self.api_key.read() or is_local(self.base_url) or self._credentials() is not None:
            return
        raise ConfigurationError(
            f"{type(self).__name__} has no AWS credentials",
            provider="bedrock",
            hint=f"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or {BEARER}, or give session=…",
        )

    def client(self) -> Any:
        """Returns the SDK's client: made at the first call, once per key, address and limit of time."""
        if self._client is not None:
            return self._client
        access = (self.api_key.read(), self.base_url, self.client_region(), _limit(self.timeout))
        with self._lock:
            if access not in self._clients:
                self._clients[access] = self._made(*access)
            return self._clients[access]

    def _credentials(self) -> Any:
        try:
            return self.session().get_credentials()
        except sdk("botocore.exceptions").BotoCoreError as error:
            raise ConfigurationError(f"{type(self).__name__}: {error}", provider="bedrock") from None

    def _made(self, key: str | None, address: str | None, region: str, read: float) -> Any:
        _boto3()
        config = sdk("botocore.config").Config(
            retries={"total_max_attempts": 1, "mode": "standard"},
            connect_timeout=min(CONNECT, read),
            read_timeout=read,
            signature_version=sdk("botocore").UNSIGNED if key else "v4",
        )
        options: dict[str, Any] = {"region_name": region, "endpoint_url": address, "config": config}
        if not key and is_local(address) and self._credentials() is None:
            options |= {"aws_access_key_id": LOCAL_KEY, "aws_secret_access_key": LOCAL_KEY}
        made = self.session().client(SERVICE, **options)
        if key:
            made.meta.events.register(f"before-call.{SERVICE}", _Bearer(key))
        return made

    def close(self) -> None:
        """Closes the clients this driver made."""
        with self._lock:
            clients = list(self._clients.values())
            self._clients.clear()
        for client in clients:
            close_pools(client)
            client.close()

    # --- requests -------------------------------------------------------------------------------

    def send(self, conversion: Conversion) -> Any:
        """Sends a request and returns the answer's body."""
        try:
            client = self.client()
            ask = client.count_tokens if is_count(conversion) else client.converse
            answer = ask(**conversion.payload)
        except Exception as error:
            if (failure := translated(error)) is None:
                raise
        else:
            return _body(answer)
        raise failure  # outside of `except`: what the SDK says may hold the key

    def open(self, conversion: Conversion) -> Iterator[Any]:
        """Sends a request and returns the events of its stream."""
        try:
            answer = self.client().converse_stream(**conversion.payload)
        except Exception as error:
            if (failure := translated(error)) is None:
                raise
        else:
            chunks = BedrockChunks(answer)
            if self._client is None and not thinks(conversion):
                chunks.limit_silence(min(self.idle_timeout, _limit(self.timeout)))
            return chunks
        raise failure


class BedrockChunks:
    """The events of a stream, one after another.

    Attributes:
        request_id: What the provider called the request.
        headers: Headers of the answer.
    """

    def __init__(self, answer: Any) -> None:
        self.request_id, self.headers = _head(answer)
        self._stream = answer["stream"]
        self._events = iter(self._stream)
        self._begun = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            found = next(self._events)
        except StopIteration:
            self._check_kind()
            raise
        except Exception as error:  # noqa: BLE001  # raised below, without the SDK's words behind it
            failure = translated(error) or error
        else:
            self._begun = True
            return found
        raise failure

    def _check_kind(self) -> None:
        """Raises where nothing came because the answer is no stream: the SDK reads a page as an empty one."""
        if not self._begun and not is_event_stream(self.headers):
            what = f"the answer is not what the API sends ({self.headers.get('content-type')})"
            raise MalformedResponseError(what, status=200, request_id=self.request_id)

    def limit_silence(self, seconds: float) -> None:
        """Lets the stream be silent for no longer than this, where the SDK's own way of saying so is still open.

        The client's limit of time is that of the first byte; from here on a shorter one does. The pool sets its own
        again for the next request.
        """
        with contextlib.suppress(AttributeError):
            sdk("botocore.compat").set_socket_timeout(self._stream._raw_stream, seconds)

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()

    def abort(self) -> None:
        """Wakes a thread that waits for the next event; for another thread than the one that reads."""
        raw = getattr(self._stream, "_raw_stream", None)
        if (shut := getattr(raw, "shutdown", None)) is not None:
            shut()


class _Bearer:
    """Puts a Bedrock API key on a request: an unsigned one carries nothing else."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, params: Any, **_: Any) -> None:
        params["headers"]["Authorization"] = f"Bearer {self._key}"


def translated(error: Exception) -> Exception | None:
    """Returns an error of boto3's as the taxonomy has it; None for ours, and for a bug."""
    if isinstance(error, LLMNeutralError):
        return None
    if (why := refusal(error)) is not None:
        return ConversionError(f"boto3 refuses the request: {why}", rule="sdk", api="bedrock_converse")
    answer = getattr(error, "response", None)
    if isinstance(answer, dict) and "Error" in answer:
        in_stream = type(error).__name__ == "EventStreamError"  # whose status the SDK makes up
        metadata = answer.get("ResponseMetadata") or {}
        status = None if in_stream else metadata.get("HTTPStatusCode")
        return provider_error(**read_error_body(answer, status, metadata.get("HTTPHeaders"), now=time.time()))
    kind = exception_type(error)
    if kind is None and _in_parser(error):
        return MalformedResponseError(f"the answer is not what the API sends ({type(error).__name__})", status=200)
    return None if kind is None else provider_error(kind, message=error_text(error), raw_type=type(error).__name__)


def _in_parser(error: Exception) -> bool:
    """Tells whether the SDK failed at reading an answer: JSON that is no object, bytes that are no text."""
    frames = traceback.walk_tb(error.__traceback__)
    return any([frame.f_globals.get("__name__") == "botocore.parsers" for frame, _ in frames])


def _boto3() -> Any:
    return sdk("boto3", extra="bedrock")


def close_pools(client: Any) -> None:
    """Closes the connections that wait for a next request.

    The SDK's `close` only forgets its pools; the garbage collector closes them, and late where an error is kept.
    """
    manager = getattr(getattr(getattr(client, "_endpoint", None), "http_session", None), "_manager", None)
    if (pools := getattr(manager, "pools", None)) is not None:
        for pool in [pools.get(key) for key in pools.keys()]:  # noqa: SIM118  # it refuses to be iterated
            if pool is not None:
                pool.close()


def _limit(timeout: float | None) -> float:
    """The client's limit of time, of which there are few: a client is made for each."""
    return READ if timeout is None else min(READ, 2.0 ** math.ceil(math.log2(max(timeout, 1.0))))


def _region_in(host: str) -> str | None:
    """`bedrock-runtime.REGION.amazonaws.com`."""
    labels = host.split(".")
    place = next((at for at, label in enumerate(labels) if label.startswith(SERVICE)), None)
    return None if place is None else labels[place + 1]


def _head(answer: Any) -> tuple[str | None, dict[str, str]]:
    metadata = answer.get("ResponseMetadata") or {}
    return metadata.get("RequestId"), metadata.get("HTTPHeaders") or {}


def _body(answer: Any) -> Any:
    body = Body({key: value for key, value in answer.items() if key != "ResponseMetadata"})
    body.request_id, body.headers = _head(answer)
    if not body:
        what = "the answer is not what the API sends: nothing of it is known"
        raise MalformedResponseError(what, status=200, request_id=body.request_id)
    return body
