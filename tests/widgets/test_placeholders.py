"""What stands in the place of a key is none and stays as it is, wherever it is shown; a key beside it does not."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.scrub import MASK, Secrets, clean
from tests.placeholders import CODE, WHERE
from tests.widgets.test_key_forms import FORMS, b64, deep, unpacked

SPELLINGS: dict[str, Callable[[str], str]] = {
    "text": str,
    "JSON": deep(1),
    "JSON in JSON": deep(2),
    "JSON at depth 5": deep(5),
    "HTML": html.escape,
    "HTML, and its quotes as they are": lambda text: html.escape(text, quote=False),
    "HTML in JSON": lambda text: json.dumps(html.escape(text)),
    "Python": repr,
    "Markdown": lambda text: f"use `{text}`, or\n```sh\n{text}\n```",
    "base64": b64,
    "among others": lambda text: f"First.\n{text}\n{text}\nLast.",
}
VALUES = (
    *("$OPENAI_API_KEY", "${OPENAI_API_KEY}", "{{token}}", "{api_key}", "<YOUR_TOKEN>", "YOUR_TOKEN", "your-key"),
    *("$key", "%API_KEY%", "xxxxxxxx", "sk-...", "{config['key']}"),
)
SECRETS = (
    *FORMS.values(),
    *("plainkey-abc123", "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "123e4567-e89b-12d3-a456-426614174000", "Ab12.Cd34-ef_56"),
    # Not placeholders, though they begin or end as one:
    *("{user}s3cr3tvalue9", "YOUR_TOKEN-9f8a7b6c", "xxxx1234abcd5678", "sk-...9f8a7b6c5d", "$KEY9f8a7b6c5d4e"),
    *("${KEY:-r3alk3yvalue9}", "{{token|r3alk3yvalue9}}", "{0a1b2c3d4e5f6071}", "%9f8a7b6c5d4e3f%"),
)


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("code", CODE)
def test_code_of_an_answer_stays_as_it_is(code: str, spelled: Callable[[str], str]) -> None:
    text = spelled(code)
    assert Secrets().text(text) == text
    assert clean([{"text": text}], Secrets()) == [{"text": text}]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("header", ["x-api-key", "Authorization", "api-key"])
def test_a_placeholder_in_a_header(header: str, value: str) -> None:
    for held in ({header: value}, {"name": header, "value": value}, [header, value], {header: f"Bearer {value}"}):
        assert clean(held, Secrets()) == held
        assert json.loads(Secrets().text(json.dumps(held))) == held


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize(
    ("secret", "where"),
    [
        (secret, where)
        for secret in SECRETS
        for where in WHERE
        if secret[0].isalnum() or not where.startswith("Bearer")  # outside of headers, tokens have no such signs
    ],
)
def test_a_key_in_the_same_place_does_not(secret: str, where: str, spelled: Callable[[str], str]) -> None:
    text = spelled(where.format(secret))
    shown = Secrets().text(text)
    assert shown != text
    assert secret not in unpacked(shown)


@given(st.from_regex(r"[a-z0-9]{20,60}", fullmatch=True).filter(lambda key: sum(map(str.isdigit, key)) > 4))
def test_any_key_is_masked_beside_a_placeholder(key: str) -> None:
    for where in WHERE[:5]:
        text = f"{where.format('$TOKEN')}\n{where.format(key)}"
        assert key not in Secrets().text(text)
        assert "$TOKEN" in Secrets().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "postgres://{user}:hunter2@localhost/db",
        "ssh://git:hunter2@github.example/x",
        "https://$USER:hunter2@host.example/x",
        "https://me:$ecret99@host.example/x",
        "x-api-key: $KEY:hunter2hunter2",
        "`x-api-key: hunter2hunter2`",
    ],
)
def test_a_secret_beside_a_placeholder(text: str) -> None:
    shown = Secrets().text(text)
    assert MASK in shown
    assert "hunter2" not in shown
    assert "ecret99" not in shown


@pytest.mark.parametrize(
    "piece", ["your", "x-api-key: your-a", "bearer a_", "key={", "x-api-key: {a[", "://a:{b", "Bearer ${a.", "xxx-"]
)
def test_time_is_linear(piece: str) -> None:
    began = time.process_time()
    Secrets().text(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 3
    began = time.process_time()
    Secrets().text(("x-api-key: " + piece + "a" * 500 + "\n") * 300)
    assert time.process_time() - began < 3
