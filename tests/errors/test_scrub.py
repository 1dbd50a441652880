"""No known form of a secret survives, and ordinary words do."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmneutral
from llmneutral.errors import MASK, scrub
from tests.placeholders import CODE, WHERE

# Put together here, so that no scanner takes them for real ones.
SECRETS = {
    "openai": "sk-" + "proj-Ab12Cd34Ef56Gh78Ij90",
    "openai, short": "sk-" + "test1",
    "anthropic": "sk-" + "ant-api03-Ab12Cd34Ef56-Gh78_AA",
    "openrouter": "sk-" + "or-v1-0123456789abcdef",
    "google": "AIza" + "SyD-1234567890abcdefghijklmnopqrs",
    "google oauth": "ya29." + "a0AfB_byC-12345678",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws, temporary": "ASIA" + "IOSFODNN7EXAMPLE",
    "groq": "gsk_" + "abcdefghijkl1234567890",
    "xai": "xai-" + "AbCdEf1234567890",
    "hugging face": "hf_" + "AbCdEfGhIjKlMnOp",
    "github": "github_pat_" + "11ABCDEFG0123456789",
    "web token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123",
}
PLACES = {
    "Authorization: Bearer {}": "abcdefghijk",
    "authorization: bearer {}": "ab.cd-ef_12",
    "it says\nBearer {}": "ab.cd-ef_12",
    "{{'x-api-key': '{}'}}": "abcdefgh12",
    '{{"x-api-key":"{}"}}': "s3cr3tvalue",
    '{{\\"x-api-key\\": \\"{}\\"}}': "s3cr3tvalue",
    "x-goog-api-key: {}": "abcdefgh12",
    "api_key={}": "abcdefgh12",
    "aws_secret_access_key = {}": "wJalrXUtnFEMI/K7MDENG",
    "https://{}@host.test/v1": "user:password",
    "http://h.test/v1beta/models?key={}&alt=sse": "abc",
    "https://b.s3.amazonaws.com/a?X-Amz-Signature={}": "0abc",
    "https://b.blob.core.windows.net/a?sv=1&sig={}": "ab%2Bc",
    "data:image/png;base64,{}": "iVBOR" + "A" * 80,
    "the input {} is not allowed": "QUJD" * 200,
    "OPENAI_API_KEY: {}": "abcdefgh",
    "OPENAI_API_KEY: {}\nMODEL: gpt": "abcdefgh",
    "OPENAI_API_KEY: {} # mine": "abcdefgh",
    "OPENAI_API_KEY: {} is wrong": "abcdefghijklm",
    "OPENAI_API_KEY: {} is wrong, too": "abcdefg1",
    "OPENAI_API_KEY: {} is wrong, again": "Abcdefgh",
    "OPENAI_API_KEY={} python": "abcdefgh",
    "api_key: {} is wrong": "abcdefgh",
    "the password: {} is wrong": "abcdefgh",
}
PLAIN = [
    "invalid x-api-key",
    "Incorrect API key provided: in***ey.",
    "Bearer token missing",
    "authorization: Bearer authentication is required",
    "You exceeded your current quota, please check your plan",
    "risk-assessment-of-the-desk-lamp",
    "model claude-3-haiku-20240307 (org: 00000000-0000-0000-0000-000000000000)",
    "See https://platform.openai.com/account/api-keys?tab=keys.",
    "max_tokens: 70000 > 64000",
    "no OPENAI_API_KEY: answering with the embedded model",
    "",
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_keys(secret: str) -> None:
    for text in (secret, f"the key {secret} is wrong", f"'{secret}'", f"({secret})", f"key={secret},"):
        assert secret not in scrub(text)
        assert MASK in scrub(text)
    assert scrub(f"the key {secret} is wrong") == f"the key {MASK} is wrong"


@pytest.mark.parametrize(("place", "secret"), PLACES.items())
def test_places_where_secrets_stand(place: str, secret: str) -> None:
    assert scrub(place.format(secret)) == place.format(MASK)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_keys_behind_an_escape(secret: str) -> None:
    """A body of an error is JSON, and what it repeats is JSON in it."""
    text = f"see\n{secret}"
    for _ in range(4):
        text = json.dumps(text)
        assert secret not in scrub(text)
    for written in (
        quote(f"a={secret}", safe=""),
        quote(quote(f"a={secret}", safe=""), safe=""),
        repr(f"a\x1b{secret}"),
    ):
        assert secret not in scrub(written)


@pytest.mark.parametrize(("place", "secret"), PLACES.items())
def test_places_within_json_within_json(place: str, secret: str) -> None:
    text = place.format(secret)
    for _ in range(5):
        text = json.dumps({"error": text})
        shown = scrub(text)
        assert secret not in shown
        json.loads(shown)


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize("spelled", [str, repr, json.dumps, lambda text: json.dumps(json.dumps(text))])
@pytest.mark.parametrize(
    "text", [*CODE, "api_key=os.environ['KEY']", 'api_key = config["key"]', "password: YOUR_PASSWORD"]
)
def test_what_stands_in_the_place_of_a_key_is_left_alone(text: str, spelled: Callable[[str], str]) -> None:
    assert scrub(spelled(text)) == spelled(text)


@pytest.mark.parametrize("where", [*WHERE, "api_key='{}'", 'password: "{}"'])
@pytest.mark.parametrize(
    "secret",
    [
        *SECRETS.values(),
        *("plainkey-abc123", "0a1b2c3d4e5f6071", "YOUR_TOKEN-9f8a7b6c", "xxxx1234abcd5678", "sk-...9f8a7b6c5d"),
    ],
)
def test_a_key_in_the_same_place_is_not(secret: str, where: str) -> None:
    for text in (where.format(secret), f"{where.format('$TOKEN')}\n{where.format(secret)}\n"):
        for spelled in (text, json.dumps(text), repr(text)):
            assert secret not in scrub(spelled)


@pytest.mark.parametrize("text", ["db://{user}:hunter2@h/x", "ssh://git:hunter2@h/x", "https://$USER:hunter2@h/x"])
def test_a_password_beside_a_placeholder(text: str) -> None:
    assert "hunter2" not in scrub(text)


def test_known_secrets_are_taken_out_whatever_they_look_like() -> None:
    assert scrub("my pass-word and my password", "pass-word") == f"my {MASK} and my password"
    assert scrub("abcdefgh abcdef", "abcdef", "abcdefgh") == f"{MASK} {MASK}"
    assert scrub("a key k", "k", "") == "a key k"


def test_no_text_of_our_own_is_taken_for_a_secret() -> None:
    """Notices and errors pass through here on their way to a page."""
    taken = []
    for path in sorted(Path(llmneutral.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            said = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if "\n" not in said and scrub(said) != said:  # longer ones are documentation, with examples of keys
                taken.append((path.name, said))
    assert taken == []


@given(text=st.text(st.sampled_from("sk-AIza0123456789abcXYZ :=?&@/.\"'key"), max_size=80))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    once = scrub(text)
    assert scrub(once) == once
