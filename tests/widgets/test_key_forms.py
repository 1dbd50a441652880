"""Keys are found in every notation, wherever they stand, and what only looks like one stays."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from llmneutral_widgets.key_forms import PATTERNS, compiled
from llmneutral_widgets.scrub import MASK, Secrets

KEY = 'c0ffee-Very/secret"Value'
FORMS = {
    "openai": "sk-proj-AbC123def456GHI789",
    "anthropic": "sk-ant-api03-Ab1_cd2-ef3gh4",
    "google": "AIzaSyA1234567890abcdefghij",
    "amazon": "AKIAIOSFODNN7EXAMPLE",
    "groq": "gsk_abc123def456ghi789",
    "hugging face": "hf_AbCdEfGhIjKlMnOpQr",
    "web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
}
PLACES = {
    "alone": "{}",
    "in a sentence": "my key is {}, keep it",
    "in JSON": '{{"key": "{}"}}',
    "in an address": "https://a.example/?x=1&key={}&y=2",
    "in code": "client = Client(api_key='{}')",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", PLACES)
def test_keys_by_their_form(form: str, place: str) -> None:
    shown = Secrets().text(PLACES[place].format(FORMS[form]))
    assert FORMS[form] not in shown
    assert MASK in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-ghi", f"Authorization: Bearer {MASK}"),
        ("x-api-key: abcdefgh", f"x-api-key: {MASK}"),
        ('{"X-Api-Key": "abcdefgh"}', f'{{"X-Api-Key": "{MASK}"}}'),
        ("{'api-key': 'abcdefgh'}", f"{{'api-key': '{MASK}'}}"),
        ("authorization=Basic dXNlcjpw", f"authorization=Basic {MASK}"),
        ("it sent Basic dXNlcjpodW50ZXIyaHVudGVyMg==, and", f"it sent Basic {MASK}, and"),
        (r"{\api-key\: \pyheaderkey999\}", rf"{{\api-key\: \{MASK}\}}"),
        (r"{\&quot;x-api-key\&quot;: \&quot;abcdefgh1\&quot;}", rf"{{\&quot;x-api-key\&quot;: \&quot;{MASK}\&quot;}}"),
        ("https://me:pass@host.example/x", f"https://{MASK}@host.example/x"),
        ("s3://b/k?X-Amz-Signature=abcdef&X=1", f"s3://b/k?X-Amz-Signature={MASK}&X=1"),
        ("https://h.example/?sig=abcd&amp;token=efgh", f"https://h.example/?sig={MASK}&amp;token={MASK}"),
    ],
)
def test_headers_and_addresses(text: str, shown: str) -> None:
    assert Secrets().text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn-is-a-library-for-everything",
        "task-management-2024-release-notes",
        "the risk-ranking-123456789 table",
        "mail me@host.example and see https://host.example/@user",
        "token = tokenizer.encode(text)",
        "key=value",
        "authorization is hard",
        "a bearer of news",
        "xai-",
        "monkey=banana",
        "authorization: required",
        "Authorization: Required for all of these",
        "authorization: see https://host.example/a2",
        "api-key: see below",
        "bearer tokens are good, and the pall-bearer carried it",
        "Bearer authentication.",
        "Basic Authentication and basic Python3 knowledge, basic understanding",
        'HEADERS = ("authorization", "x-api-key", "cookie")',
        '{"required": ["authorization", "api-key"], "n": 12}',
        'NAMES = {"x-api-key": "X-Api-Key", "authorization": "Proxy-Authorization"}',
        'SIGNED = ("authorization", "x-amz-content-sha256")',
        '_AUTHORIZATION = "authorization"',
        'authorization = request.headers.get("Authorization")',
        'auth = {"x-api-key": self.api_key, "api-key": key_of.mine}',
        "self._expected_authorization = expected_authorization; expected_authorization=self._expected_authorization,",
        '{"authorization": {"type": "string"}}',
        'found = sent["x-api-key"], 123456',
        "from net import authorization_headers_2",
        r"C:\new\task-2024-report",
        "-----BEGIN PRIVATE KEY-----\nis how such a file begins",
        "internationalization_of_many_identifiers = telecommunications/extraordinarily",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert Secrets().text(text) == text


PLAIN = "plainkey-abc123"
HOLDERS: tuple[Any, ...] = (
    {"x-api-key": PLAIN},
    {"Authorization": f"Bearer {PLAIN}"},
    {"authorization": PLAIN},
    {"all": [{"Proxy-Authorization": f"Basic {PLAIN}"}]},
    {"X-Goog-Api-Key": PLAIN},
    {"name": "x-api-key", "value": PLAIN},
    ["x-api-key", PLAIN],
    {"note": f"key: {KEY}"},
    {"note": f"see\n{FORMS['openai']}"},
    {"note": f"see\n{FORMS['amazon']}"},
    {"url": "https://me:plainkey-abc123@host.example/x"},
    {"url": "https://host.example/x?a=1&key=plainkey-abc123&b=2"},
)
"""Where keys stand: in headers of any shape, in texts, in addresses."""


def deep(times: int) -> Callable[[str], str]:
    """JSON in JSON in JSON."""

    def spelled(text: str) -> str:
        for _ in range(times):
            text = json.dumps(text)
        return text

    return spelled


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


NOTATIONS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": deep(1),
    "JSON in JSON": deep(2),
    "JSON at depth 5": deep(5),
    "Python": repr,
    "Python in JSON": lambda text: json.dumps(repr(text)),
    "an address": quote,
    "an address, with slashes": lambda text: quote(text, safe=""),
    "an address in an address": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": b64,
    "base64 of addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 in base64": lambda text: b64(b64(text)),
    "base64 in lines": lambda text: base64.encodebytes((text * 5).encode()).decode(),
    "base64 in JSON": lambda text: json.dumps(f"a file:\n{b64(text)}"),
    "a data address": lambda text: f"data:text/plain;base64,{b64(text)}",
}


def unpacked(text: str) -> str:
    """A text, and all that stands in base64 in it."""
    found = [text]
    for run in re.findall(r"[A-Za-z0-9+/_-]{16,}", text.replace("\\n", " ").replace("\n", "")):
        run = run[: len(run) - (len(run) % 4 == 1)]
        octets = base64.b64decode(run + "=" * (-len(run) % 4), altchars=b"-_" if "-" in run or "_" in run else None)
        found.append(unpacked(octets.decode("latin-1")))
    return "\n".join(found)


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("holder", HOLDERS, ids=json.dumps)
def test_a_key_in_every_notation(holder: Any, notation: str) -> None:
    written = NOTATIONS[notation](json.dumps(holder))
    shown = Secrets([KEY]).text(written)
    told = unpacked(shown)
    for secret in (PLAIN, KEY, "ecret", FORMS["openai"], FORMS["amazon"]):
        assert secret not in told
    if notation.startswith("JSON"):
        json.loads(shown)


def test_raw_headers() -> None:
    raw = [(b"Host", b"a.example"), (b"x-api-key", PLAIN.encode())]
    assert PLAIN not in Secrets().text(repr(raw))


def test_a_private_key() -> None:
    lines = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n" * 5
    pem = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}abcd==\n-----END RSA PRIVATE KEY-----\nand more"
    for depth in range(5):
        shown = Secrets().text(deep(depth)(pem))
        for _ in range(depth):
            shown = json.loads(shown)
        assert shown == f"-----BEGIN RSA PRIVATE KEY-----{MASK}\n-----END RSA PRIVATE KEY-----\nand more"


def test_a_marker_stands_in_what_is_found() -> None:
    """A pattern is looked for only where its marker stands, in small letters."""
    assert all([pattern.marker == pattern.marker.lower() for pattern in PATTERNS])
    assert len({compiled(pattern.search) for pattern in PATTERNS}) == len(PATTERNS)
