"""Fetches media by address, for APIs that take no address: only where the fact `fetch_allowed` says so.

`https` only, redirects included; at most 20 MB each; with a client of its own, so that no key of a provider goes along.
The HTTP library is the one the official SDKs bring (httpx2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from llmneutral.errors import ConversionError, scrub
from llmneutral.ir.messages import Message
from llmneutral.profiles.hosts import read_address

MOST_BYTES = 20 << 20
MOST_REDIRECTS = 5
SECONDS = 60.0

Fetched = Mapping[str, tuple[bytes, str | None]]


def addresses_of(messages: Iterable[Message]) -> list[str]:
    """Returns the addresses of media that have no data, each once, in order; results of tools are looked into."""
    found: dict[str, None] = {}
    for message in messages:
        for content in message.content:
            for block in (content, *_inside(content)):
                url = getattr(block, "url", None)
                if url and getattr(block, "data", None) is None and getattr(block, "file_id", None) is None:
                    found[url] = None
    return list(found)


def _inside(content: Any) -> Iterable[Any]:
    return getattr(content, "parts", None) or ()


def fetch(urls: Iterable[str], *, transport: Any = None) -> Fetched:
    """Fetches some addresses, one after another.

    Args:
        urls: Addresses.
        transport: An httpx2 transport, for tests.

    Returns:
        The bytes and the media type the server gave, by address.

    Raises:
        ConversionError: If one is no `https` address, does not answer, or is too large.
    """
    from httpx2 import Client

    with Client(timeout=SECONDS, transport=transport) as client:
        return {url: _fetch(client, url) for url in urls}


def _fetch(client: Any, url: str) -> tuple[bytes, str | None]:
    place = url
    try:
        for _ in range(MOST_REDIRECTS + 1):
            _check(place)
            with client.stream("GET", place) as response:
                if response.is_redirect:
                    place = str(response.next_request.url)
                    continue
                body = _Body(response)
                for piece in response.iter_bytes():
                    body.add(piece)
                return body.done()
    except Exception as error:  # noqa: BLE001  # whatever goes wrong, the media cannot be sent
        raise _failed(url, error) from None
    raise _failed(url, _RefusedError(f"more than {MOST_REDIRECTS} redirects"))


async def afetch(urls: Iterable[str], *, transport: Any = None) -> Fetched:
    """The async twin of `fetch`; all at once."""
    from httpx2 import AsyncClient

    listed = list(urls)
    async with AsyncClient(timeout=SECONDS, transport=transport) as client:
        found = await asyncio.gather(*[_afetch(client, url) for url in listed])
    return dict(zip(listed, found, strict=True))


async def _afetch(client: Any, url: str) -> tuple[bytes, str | None]:
    place = url
    try:
        for _ in range(MOST_REDIRECTS + 1):
            _check(place)
            async with client.stream("GET", place) as response:
                if response.is_redirect:
                    place = str(response.next_request.url)
                    continue
                body = _Body(response)
                async for piece in response.aiter_bytes():
                    body.add(piece)
                return body.done()
    except Exception as error:  # noqa: BLE001  # whatever goes wrong, the media cannot be sent
        raise _failed(url, error) from None
    raise _failed(url, _RefusedError(f"more than {MOST_REDIRECTS} redirects"))


class _RefusedError(Exception):
    """Why something is not fetched."""


class _Body:
    """A body in the making: no more of it is read than may be kept."""

    def __init__(self, response: Any) -> None:
        if response.status_code != 200:
            raise _RefusedError(f"the server answers with status {response.status_code}")
        self.media_type = response.headers.get("content-type")
        self.pieces: list[bytes] = []
        self.size = int(response.headers.get("content-length") or 0)
        self._check()
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self._check()
        self.pieces.append(piece)

    def done(self) -> tuple[bytes, str | None]:
        return b"".join(self.pieces), self.media_type

    def _check(self) -> None:
        if self.size > MOST_BYTES:
            raise _RefusedError(f"it is larger than {MOST_BYTES >> 20} MB")


def _check(place: str) -> None:
    address = read_address(place)
    if address.scheme != "https" or not address.host:
        raise _RefusedError("only https addresses are fetched")


def _failed(url: str, error: Exception) -> ConversionError:
    why = str(error) if isinstance(error, _RefusedError) else f"{type(error).__name__}: {error}"
    return ConversionError(
        f"cannot fetch {scrub(url)}: {why}", rule="fetch", hint="Give the bytes, or fetch= with a function of yours."
    )
