"""Media fetched by address: https only, not too much, without keys, and only where it is allowed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from llmneutral import ConversionError, PromptStack
from llmneutral.drivers import fetching
from llmneutral.drivers.fetching import addresses_of, afetch, fetch
from tests.drivers.scripted import Scripted, chunks, whole

GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
URL = "https://media.test/a.gif"


def serving(answer: Callable[[httpx2.Request], httpx2.Response]) -> httpx2.MockTransport:
    return httpx2.MockTransport(answer)


def gif(request: httpx2.Request) -> httpx2.Response:
    assert "authorization" not in request.headers
    return httpx2.Response(200, content=GIF, headers={"content-type": "image/gif"})


def redirecting(target: str) -> Callable[[httpx2.Request], httpx2.Response]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/from":
            return httpx2.Response(302, headers={"location": target})
        return gif(request)

    return answer


def test_bytes_and_type_come_back() -> None:
    assert fetch([URL], transport=serving(gif)) == {URL: (GIF, "image/gif")}


async def test_async_is_the_same() -> None:
    other = "https://media.test/b.gif"
    assert await afetch([URL, other], transport=serving(gif)) == {
        URL: (GIF, "image/gif"),
        other: (GIF, "image/gif"),
    }


def test_redirects_are_followed_as_long_as_they_are_https() -> None:
    start = "https://media.test/from"
    assert fetch([start], transport=serving(redirecting("/a.gif")))[start][0] == GIF
    with pytest.raises(ConversionError, match="only https"):
        fetch([start], transport=serving(redirecting("http://media.test/a.gif")))
    with pytest.raises(ConversionError, match="more than 5 redirects"):
        fetch([start], transport=serving(redirecting("/from")))


@pytest.mark.parametrize("url", ["http://media.test/a.gif", "file:///etc/passwd", "ftp://media.test/a", "a.gif"])
async def test_only_https_is_fetched(url: str) -> None:
    with pytest.raises(ConversionError, match="only https"):
        fetch([url], transport=serving(gif))
    with pytest.raises(ConversionError, match="only https"):
        await afetch([url], transport=serving(gif))


@pytest.mark.parametrize("told", [True, False])
async def test_too_much_is_not_read(monkeypatch: pytest.MonkeyPatch, told: bool) -> None:
    monkeypatch.setattr(fetching, "MOST_BYTES", 10)

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=GIF if told else iter([b"12345678", b"12345678"]))

    async def pieces() -> Any:
        yield b"12345678"
        yield b"12345678"

    with pytest.raises(ConversionError, match="larger than"):
        fetch([URL], transport=serving(answer))
    with pytest.raises(ConversionError, match="larger than"):
        await afetch([URL], transport=serving(lambda request: httpx2.Response(200, content=GIF if told else pieces())))


async def test_a_status_and_a_lost_connection_are_told() -> None:
    def lost(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("no route")

    for answer, why in ((lambda request: httpx2.Response(404), "status 404"), (lost, "ConnectError: no route")):
        with pytest.raises(ConversionError, match=rf"cannot fetch {URL}: .*{why}"):
            fetch([URL], transport=serving(answer))
        with pytest.raises(ConversionError, match=why):
            await afetch([URL], transport=serving(answer))


def test_no_signature_of_an_address_is_told() -> None:
    with pytest.raises(ConversionError) as caught:
        fetch([f"{URL}?sig=verysecretsignature"], transport=serving(lambda request: httpx2.Response(403)))
    assert "verysecret" not in str(caught.value)


# --- in a driver ------------------------------------------------------------------------------------------------------


PICTURES = [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}, {"type": "text", "text": "what?"}]}
]


def test_addresses_are_found_also_in_results() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    inner = "https://media.test/b.gif"
    stack = PromptStack.from_openai(
        [
            *PICTURES,
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "image_url", "image_url": {"url": inner}}]},
            *PICTURES,
        ]
    )
    assert addresses_of(stack.messages) == [URL, inner]


def ollama(*answers: Any, allowed: bool = True) -> Scripted:
    """An endpoint that takes no addresses of pictures."""
    return Scripted(*answers, provider="ollama", facts={"fetch_allowed": allowed})


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []

    def one(urls: list[str]) -> Any:
        asked.extend(urls)
        return fetch(urls, transport=serving(gif))

    async def all_of(urls: list[str]) -> Any:
        asked.extend(urls)
        return await afetch(urls, transport=serving(gif))

    monkeypatch.setattr(fetching, "fetch", one)
    monkeypatch.setattr(fetching, "afetch", all_of)
    return asked


def sent_data(driver: Scripted) -> str:
    return str(driver.sent[0]["messages"][0]["content"][0]["image_url"]["url"])


async def test_a_driver_fetches_where_the_fact_allows_it(fetched: list[str]) -> None:
    driver = ollama(whole())
    assert driver.run(PICTURES).text == "Hello there"
    assert sent_data(driver) == f"data:image/gif;base64,{base64.b64encode(GIF).decode()}"
    streaming = ollama(chunks())
    stream = streaming.astream(PICTURES)
    assert [delta.kind async for delta in stream][-1] == "end"
    assert sent_data(streaming).startswith("data:image/gif")
    assert fetched == [URL, URL]


def test_it_does_not_fetch_by_itself(fetched: list[str]) -> None:
    driver = ollama(allowed=False)
    with pytest.raises(ConversionError, match="takes no address"):
        driver.run(PICTURES)
    assert fetched == []


def test_it_does_not_fetch_what_the_api_takes_as_an_address(fetched: list[str]) -> None:
    driver = Scripted(whole(), facts={"fetch_allowed": True})
    driver.run(PICTURES)
    assert sent_data(driver) == URL
    assert fetched == []


def test_the_callers_own_fetch_comes_first(fetched: list[str]) -> None:
    driver = ollama(whole())
    driver.run(PICTURES, fetch={URL: (GIF, "image/gif")})
    assert fetched == []
    assert sent_data(driver).startswith("data:image/gif")


def test_what_cannot_be_fetched_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = ollama(whole())
    plain = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://media.test/a.gif"}}]}]
    with pytest.raises(ConversionError, match="only https"):
        driver.run(plain)
    assert driver.sent == []
