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
from tests.widgets.test_key_forms import FORMS, HOLDERS, KEY, NOTATIONS, b64, unpacked


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


@pytest.mark.parametrize("holder", HOLDERS, ids=json.dumps)
def test_plain_data_and_its_text_hide_the_same(holder: Any) -> None:
    secrets = Secrets([KEY])
    found = plain(holder, secrets)
    assert MASK in json.dumps(found, ensure_ascii=False)
    for written in (json.dumps(found), json.dumps(found, ensure_ascii=False)):
        assert json.loads(secrets.text(written)) == found
    assert plain(found, secrets) == found


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_known_value_of_many_lines(notation: str) -> None:
    value = "line-one-of-it-\nline-two\"quoted'-\\back-é/9"
    for text in (value, repr({"k": value}), json.dumps({"k": value}), json.dumps(json.dumps({"k": value}))):
        told = unpacked(Secrets([value]).text(NOTATIONS[notation](text)))
        assert "line-one" not in told
        assert "quoted" not in told


@pytest.mark.parametrize("before", ["", "a", "ab", "\x00\xff", "%PDF-1.7 \xe2\xe3 "])
def test_a_known_value_in_a_file_of_any_kind(before: str) -> None:
    """A file that is no text is searched for what is known, wherever in it that stands."""
    octets = before.encode("latin-1") + KEY.encode() + b"\xff\x00 more"
    for letters in ("", "x", "xy", "xyz"):  # what stands before it without a gap
        written = letters + base64.b64encode(octets).decode()
        shown = Secrets([KEY]).text(written)
        assert shown != written
        assert all(["ecret" not in unpacked(shown[n:]) for n in range(4)])
    wide = base64.b64encode(KEY.encode("utf-16")).decode()
    assert Secrets([KEY]).text(wide) != wide


@given(st.binary(max_size=300), st.text(max_size=100))
def test_base64_without_secrets_stays_to_the_letter(octets: bytes, text: str) -> None:
    for written in (base64.b64encode(octets).decode(), base64.urlsafe_b64encode(octets).decode(), b64(text)):
        assert Secrets([KEY]).text(written) == written


def test_a_document_is_masked_as_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a file can still be read: it is the text without the key."""
    monkeypatch.setenv("A_API_KEY", KEY)
    block = {"type": "document", "data": b64(f"A_API_KEY={KEY}\nB=1\n"), "media_type": "text/plain"}
    found = plain(block)
    assert base64.b64decode(found["data"]).decode() == f"A_API_KEY={MASK}\nB=1\n"


def test_the_key_variables_of_the_configs_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llmneutral, "key_variables", lambda: ["ODD_NAME"], raising=False)
    assert current_secrets({"ODD_NAME": KEY}).text(KEY) == MASK


def test_a_typed_key_is_remembered() -> None:
    typed = "typed-in-by-hand-0123456789"
    scrub.remember(typed)
    assert current_secrets({}).text(f"<{typed}>") == f"<{MASK}>"


def test_a_key_given_to_a_driver_is_remembered() -> None:
    given = "given-in-code-0123456789"
    driver = llmneutral.DummyPromptDriver(api_key=given)
    assert current_secrets({}).text(f"<{given}>") == f"<{MASK}>"
    del driver
    assert current_secrets({}).text(f"<{given}>") == f"<{MASK}>", "its answers are still shown"


def test_what_stands_for_no_key_is_a_word() -> None:
    driver = llmneutral.DummyPromptDriver(api_key="no-key-required")
    assert current_secrets({}).text("no-key-required here") == "no-key-required here"
    assert driver.api_key.given == "no-key-required"


@given(
    st.lists(
        st.sampled_from(
            [*FORMS.values(), KEY, "Bearer ", "x-api-key: ", "word ", "://", "@", "?key=", "\n", "•", b64(KEY), "\\n"]
        )
    )
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
        "api-key\\",
        "%22api-key%22%3A",
        "\\",
        "abcdefghijklmnop ",
        "QUJD" * 19 + "\n",
        "-----BEGIN PRIVATE KEY-----\n",
        "https%3A%2F%2F",
        "authorization: bearer ",
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
    payload = {
        "a/b": [{"type": "image_url", "image_url": {"url": url}}, {"type": "input_image", "image_url": url}],
        "anthropic": {"source": {"type": "base64", "media_type": "image/png", "data": BIG64}},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": safe}},
        "bedrock": {"image": {"format": "png", "source": {"bytes": BIG64}}},
        "file": {"filename": "a.pdf", "file_data": url},
        "audio": [{"input_audio": {"data": BIG64, "format": "wav"}}, {"input_audio": BIG64}],
        "bare": {"type": "image", "data": BIG64},
    }
    kept = json.dumps(cut(payload, "/payload", cuts))
    assert len(kept) < 1000
    assert kept.count("null") == len(cuts) == 9
    assert [found.at for found in cuts][:2] == ["/payload/a~1b/0/image_url/url", "/payload/a~1b/1/image_url"]
    assert cuts[0].was == f"image/png, {len(BIG)} bytes"
    assert len({found.sha256 for found in cuts}) == 1


LETTERS = "ACGT" * 20_000


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text", "text": LETTERS},
        {"type": "text", "text": f"data:image/png;base64,{BIG64}"},
        {"text": LETTERS, "data": LETTERS},
        {"arguments": {"data": LETTERS, "bytes": LETTERS, "url": LETTERS}},
        [LETTERS, BIG64],
        {"content": LETTERS, "output": [LETTERS]},
        {"type": "thinking", "signature": BIG64, "data": BIG64},
    ],
)
def test_a_text_of_the_letters_of_base64_is_a_text(value: Any) -> None:
    cuts: list[scrub.Cut] = []
    assert cut(value, "", cuts) == value
    assert cuts == []


@given(st.recursive(st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(st.text(max_size=8), x)))
def test_what_is_small_is_not_cut(value: Any) -> None:
    cuts: list[scrub.Cut] = []
    assert cut(value, "", cuts) == value
    assert cuts == []


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
