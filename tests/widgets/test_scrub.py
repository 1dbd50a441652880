"""What is secret is not shown; what JSON does not have and what is too big is not kept."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import time
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral_widgets import scrub
from llmneutral_widgets.scrub import LARGEST_MEDIA, LONGEST_TEXT, MASK, Secrets, builtin, current_secrets, cut, plain

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
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert Secrets().text(text) == text


def test_values_of_the_environment() -> None:
    names = [
        "OPENAI_API_KEY",
        "MY_TOKEN",
        "DB_PASSWORD",
        "CLIENT_SECRET",
        "AWS_SECRET_ACCESS_KEY",
        "api_key",
        "KEY_TOKEN_2",
    ]
    for name in names:
        assert current_secrets({name: KEY}).text(f"a {KEY} b") == f"a {MASK} b", name
    assert KEY in current_secrets({"HOME": KEY, "TOKENIZERS": KEY, "KEYBOARD": KEY}).text(KEY)
    assert current_secrets({"MY_TOKEN": "short"}).text("a short text") == "a short text"


def test_a_value_in_every_spelling() -> None:
    secrets = Secrets([KEY])
    for written in (KEY, json.dumps({"a": KEY}), "https://h.example/?q=c0ffee-Very%2Fsecret%22Value"):
        assert "ecret" not in secrets.text(written)


def test_the_key_variables_of_the_configs_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llmneutral, "key_variables", lambda: ["ODD_NAME"], raising=False)
    assert current_secrets({"ODD_NAME": KEY}).text(KEY) == MASK


def test_a_typed_key_is_remembered() -> None:
    typed = "typed-in-by-hand-0123456789"
    scrub.remember(typed)
    assert current_secrets({}).text(f"<{typed}>") == f"<{MASK}>"


@given(
    st.lists(st.sampled_from([*FORMS.values(), KEY, "Bearer ", "x-api-key: ", "word ", "://", "@", "?key=", "\n", "•"]))
)
def test_twice_is_once(parts: list[str]) -> None:
    secrets = Secrets([KEY])
    once = secrets.text("".join(parts))
    assert secrets.text(once) == once


@given(st.text(alphabet="abc xyz.,\n", max_size=200))
def test_prose_is_left_alone(text: str) -> None:
    assert Secrets([KEY]).text(text) == text


@pytest.mark.parametrize("secret", [*FORMS.values(), "exact-secret-value-00"])
@pytest.mark.parametrize("lead", ["my key: ", "", "{'k': '", "https://h.example/?key="])
def test_a_stream_shows_no_beginning_of_a_key(secret: str, lead: str) -> None:
    """Whatever was shown at any time holds at most a few characters of the key: too few to know it by."""
    secrets, text, longest = Secrets(["exact-secret-value-00"]), "", 0
    for char in f"{lead}{secret} and more":
        text += char
        held = secrets.held(text)
        shown = secrets.text(text[: len(text) - held])
        longest = max(longest, *[n for n in range(len(secret) + 1) if secret[:n] in shown])
    assert longest <= 4
    assert secret not in secrets.text(text)
    assert secrets.held(text) == 0


def test_an_ordinary_stream_is_not_held() -> None:
    assert Secrets([KEY]).held("The quick brown fox") == 0


@pytest.mark.parametrize(
    "piece",
    [
        "QUJD",
        "sk-",
        "sk-a",
        "eyJa-",
        "eyJaaaaaaaaa.",
        "://a",
        "api-key:",
        "&key=",
        "bearer ",
        "gsk_a",
        "a ",
        "authorization",
        "AKIA",
    ],
)
def test_time_is_linear(piece: str) -> None:
    secrets = Secrets([KEY])

    def seconds(size: int) -> float:
        text, best = piece * (size // len(piece)), float("inf")
        for _ in range(3):
            start = time.process_time()
            secrets.text(text)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(160_000) < 20 * seconds(20_000) + 0.02


# ----------------------------------------------------------------------------------------------------------------------
# Plain data


class Model(pydantic.BaseModel):
    name: str = "x"


@dataclasses.dataclass
class Point:
    x: float


class Sulky:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def test_plain_data() -> None:
    value = {
        "nan": math.nan,
        "inf": -math.inf,
        "list": (1, 2.5, None, True),
        "model": Model(),
        "point": Point(math.inf),
        "bytes": b"abc",
        "key": KEY,
        KEY: 1,
        3: "number",
        "message": llmneutral.Message("user", (llmneutral.TextMessageContent("hi"),)),
        "sulky": Sulky(),
        "big": 2**80,
    }
    found = plain(value, Secrets([KEY]))
    assert found == {
        "nan": None,
        "inf": None,
        "list": [1, 2.5, None, True],
        "model": {"name": "x"},
        "point": {"x": None},
        "bytes": "YWJj",
        "key": MASK,
        MASK: 1,
        "3": "number",
        "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        "sulky": "<Sulky, whose repr raises RuntimeError>",
        "big": 2**80,
    }
    json.dumps(found, allow_nan=False)


def test_what_cannot_be_read_is_its_repr() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert isinstance(builtin(circle), str)
    assert builtin({(1, 2): "x"}) == repr({(1, 2): "x"})


@given(
    st.recursive(st.none() | st.floats() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_always_json(value: Any) -> None:
    json.dumps(plain(value, Secrets()), allow_nan=False)


# ----------------------------------------------------------------------------------------------------------------------
# Sizes

BIG = bytes(range(256)) * (LARGEST_MEDIA // 256 + 1)
BIG64 = base64.b64encode(BIG).decode()


def test_big_media_of_a_block_are_cut() -> None:
    cuts: list[scrub.Cut] = []
    message = {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": BIG64, "media_type": "image/png"}]}
    kept = cut(message, "/messages/0", cuts)
    assert kept["content"][1] == {"type": "image", "data": None, "media_type": "image/png"}
    assert message["content"][1]["data"] == BIG64
    digest = hashlib.sha256(BIG).hexdigest()
    assert cuts == [scrub.Cut("/messages/0/content/1", f"image/png, {len(BIG)} bytes", digest)]


def test_big_media_of_a_payload_are_cut_where_they_stand() -> None:
    cuts: list[scrub.Cut] = []
    url = f"data:image/png;base64,{BIG64}"
    safe = base64.urlsafe_b64encode(BIG).decode().rstrip("=")
    kept = cut({"a/b": [url], "c": {"source": {"data": BIG64}}, "d": safe}, "/payload", cuts)
    assert kept == {"a/b": [None], "c": {"source": {"data": None}}, "d": None}
    assert [found.at for found in cuts] == ["/payload/a~1b/0", "/payload/c/source/data", "/payload/d"]
    assert cuts[0].was == f"image/png, {len(BIG)} bytes"
    assert len({found.sha256 for found in cuts}) == 1


def test_small_media_and_long_prose_stay() -> None:
    cuts: list[scrub.Cut] = []
    value = {"data": base64.b64encode(BIG[:LARGEST_MEDIA]).decode(), "text": "a word " * 20_000}
    assert cut(value, "", cuts) == value
    assert cuts == []


def test_huge_texts_are_cut() -> None:
    cuts: list[scrub.Cut] = []
    text = "é " * LONGEST_TEXT
    assert cut({"text": text}, "", cuts) == {"text": text[:LONGEST_TEXT]}
    assert cuts[0][:2] == ("/text", f"text, {len(text)} characters")


def test_half_a_character_is_in_nothing_that_leaves() -> None:
    found = plain({"a\ud83d": ["b\ude00", "\U0001f600"]}, Secrets())
    assert found == {"a\ufffd": ["b\ufffd", "\U0001f600"]}
    json.dumps(found, ensure_ascii=False).encode("utf-8")
