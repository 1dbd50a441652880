"""Nothing secret, nothing infinite, nothing huge: what every value goes through before it is shown, saved or logged.

What must live here: which texts are secrets, and the ways from a live value to plain JSON data. This file knows no
view and no notebook. Every search is linear in the text: a pattern is tried only where its marker stands, and each is
bounded.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

MASK = "•••"
"""Stands where a secret stood."""
SHORTEST = 12
"""Characters of an environment value that is taken for a secret: a shorter one would cut holes into ordinary words."""
LARGEST_MEDIA = 32 * 1024
"""Bytes of a picture, sound or document that is kept in a file."""
LONGEST_TEXT = 1_000_000
"""Characters of a text that is kept in a file."""
_ROUNDS = 8
"""One secret taken out may bring another one into sight: `AKIA…sk-…` is one word at first."""
_HELD = 4096
"""Characters at the end of a stream that may still become a secret."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_KEY|AUTH_KEY|SECRET_KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE)(?:_?\d+)?$",
    re.IGNORECASE,
)
_HALF = re.compile("[\ud800-\udfff]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_DATA_ADDRESS = re.compile(r"data:([\w.+-]{1,100}/[\w.+-]{1,100})?(?:;[\w.+=-]{1,100}){0,4};base64,")


# ----------------------------------------------------------------------------------------------------------------------
# Secrets


class Pattern(NamedTuple):
    """A form of secret: the marker without which it cannot stand in a text, the search, what takes its place."""

    marker: str
    search: re.Pattern[str]
    replacement: str


def _pattern(marker: str, search: str, replacement: str = MASK) -> Pattern:
    return Pattern(marker, re.compile(search, re.IGNORECASE), replacement)


def _header(name: str) -> Pattern:
    """A header in any notation: `name: value`, `"name": "value"`, `name=value`."""
    value = r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?:bearer|basic)\s{1,4})?"
    return _pattern(name, rf"({re.escape(name)}{value})(?!•|bearer\b|basic\b)[^\s\"',;<>&]{{6,4000}}", rf"\1{MASK}")


_SIGNED = (
    r"key|api[_-]?key|sig|signature|token|access_token|auth|password|secret|awsaccesskeyid"
    r"|x-(?:amz|goog)-(?:signature|credential|security-token)"
)
PATTERNS: tuple[Pattern, ...] = (
    # Keys by their beginnings (OpenAI, Anthropic, Groq, xAI, Hugging Face, GitHub, Google, Amazon, web tokens). A digit
    # must follow soon, so that no word is taken for one; a letter before them means the middle of a word.
    _pattern("sk-", r"(?<![a-z0-9])sk-(?=[\w-]{0,40}\d)[\w-]{8,4000}"),
    _pattern("gsk_", r"(?<![a-z0-9])gsk_(?=\w{0,40}\d)\w{12,4000}"),
    _pattern("xai-", r"(?<![a-z0-9])xai-(?=[\w-]{0,40}\d)[\w-]{12,4000}"),
    _pattern("hf_", r"(?<![a-z0-9])hf_[a-z0-9]{16,4000}"),
    _pattern("gh", r"(?<![a-z0-9])(?:gh[pousr]_[a-z0-9]{16,4000})"),
    _pattern("aiza", r"(?<![a-z0-9])aiza[\w-]{16,4000}"),
    _pattern("kia", r"(?<![a-z0-9])(?-i:AKIA[0-9A-Z]{12,4000})"),
    _pattern("sia", r"(?<![a-z0-9])(?-i:ASIA[0-9A-Z]{12,4000})"),
    _pattern("eyj", r"(?<![\w-])(?-i:eyJ)[\w-]{8,4000}\.[\w-]{4,8000}(?:\.[\w-]{0,4000})?"),
    # What stands in headers and addresses.
    _pattern("bearer", r"\b(bearer\s{1,4})(?!•)[\w.~+/=-]{6,4000}", rf"\1{MASK}"),
    _header("x-api-key"),
    _header("api-key"),
    _header("x-goog-api-key"),
    _header("x-amz-security-token"),
    _header("authorization"),
    _pattern("://", r"(?<=://)[^\s/@\"'<>?#]{1,500}@", f"{MASK}@"),
    _pattern("=", rf"([?&](?:amp;)?(?:{_SIGNED})=)(?!•)[^&\s\"'<>#]{{4,4000}}", rf"\1{MASK}"),
)


class Secrets:
    """What must never be shown: exact values, and forms.

    Args:
        values: Values that are secret, whatever they look like; those under `SHORTEST` characters are left alone.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
        self._values = sorted(forms, key=len, reverse=True)

    def text(self, source: str) -> str:
        """Returns the text with `•••` in the place of every secret. Doing it twice changes nothing more."""
        for _ in range(_ROUNDS):
            shown = self._masked(source)
            if shown == source:
                break
            source = shown
        return source

    def _masked(self, source: str) -> str:
        for value in self._values:
            if value in source:
                source = source.replace(value, MASK)
        folded = source.lower()
        for marker, search, replacement in PATTERNS:
            if marker in folded:
                source = search.sub(replacement, source)
        return source

    def held(self, source: str, least: int = 4) -> int:
        """Returns how many characters at the end of a growing text may be the beginning of a secret.

        A stream brings a key in pieces: what is shown of it early cannot be taken back.

        Args:
            source: The text so far, or its end.
            least: Characters of a known value that are taken for its beginning.
        """
        tail = source[-_HELD:]
        start = max([tail.rfind(gap) for gap in " \n\t\"'<>`(,"]) + 1
        word = tail[start:].lower()
        if label := _LABEL.search(tail[max(0, start - 60) : start]):
            return len(word) + len(label[0])
        if any([marker in word for marker in _WORD_MARKERS]):
            return len(word)
        return max([_overlap(source, value, least) for value in self._values], default=0)


_LABEL = re.compile(
    r"(?:(?:key|authorization|token)[\"']?\s?[:=]\s?[\"']?(?:bearer|basic)?|\bbearer|\bbasic)[ \"']*$", re.IGNORECASE
)
_WORD_MARKERS = (
    *[pattern.marker for pattern in PATTERNS if pattern.marker not in ("gh", "kia", "sia", "=")],
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "akia", "asia"),
)


def _forms(value: str) -> Iterable[str]:
    """A secret as it stands in texts: as it is, in JSON, in an address."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield quote(value, safe="")


def _overlap(source: str, value: str, least: int) -> int:
    """How much of a value, from a least length on, stands at the end of a text."""
    most = min(len(value) - 1, len(source))
    return next((n for n in range(most, least - 1, -1) if source.endswith(value[:n])), 0)


class _Remembered:
    """Keys that were typed in this process; they are in no environment."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._lock = threading.Lock()

    def add(self, value: str) -> None:
        with self._lock:
            self._values.add(value)

    def values(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._values)


_REMEMBERED = _Remembered()


def remember(secret: str) -> None:
    """Notes a key that was typed, so that nothing shows it from now on."""
    _REMEMBERED.add(secret)


def current_secrets(environment: Mapping[str, str] | None = None) -> Secrets:
    """Returns the secrets of this moment: of the environment, of the key variables the configs know, and typed ones.

    Args:
        environment: Instead of the process's own.
    """
    given = os.environ if environment is None else environment
    known = _key_variables()
    values = [value for name, value in given.items() if name in known or _SECRET_NAME.search(name)]
    return Secrets([*values, *_REMEMBERED.values()])


def _key_variables() -> frozenset[str]:
    """The names of the variables that hold keys, as far as the library tells them."""
    import llmneutral

    tell: Callable[[], Iterable[str]] | None = getattr(llmneutral, "key_variables", None)
    return frozenset(tell()) if tell else frozenset()


# ----------------------------------------------------------------------------------------------------------------------
# Plain data


def plain(value: Any, secrets: Secrets | None = None) -> Any:
    """Returns any value as JSON data without secrets: what views are given, and what files keep.

    Structs, dataclasses and models become dicts, bytes base64, NaN and infinities None (JSON has none of them), and
    what is none of these its text.
    """
    return clean(builtin(value), secrets or current_secrets())


def builtin(value: Any) -> Any:
    """Returns any value as JSON data; what cannot be read is shown by its repr, nothing is raised."""
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_foreign)
    except Exception:  # noqa: BLE001 - a value of the user's may fail in any way; it is still shown
        return builtin_repr(value)


def _foreign(value: Any) -> Any:
    """What msgspec does not know: pydantic models and anything else."""
    try:
        return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)
    except Exception:  # noqa: BLE001 - as above
        return builtin_repr(value)


def builtin_repr(value: Any) -> str:
    """Returns the repr of any value; nothing is raised."""
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - as above
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def clean(value: Any, secrets: Secrets) -> Any:
    """Returns plain data without secrets, without numbers that JSON does not have, and without halves of characters.

    Half of a surrogate pair (a stream that was cut in an emoji) stands in no UTF-8: a kernel could not send it, and a
    notebook server answers a file that holds one, escaped or not, with an error.
    """
    if isinstance(value, str):
        return _HALF.sub("\ufffd", secrets.text(value))
    if isinstance(value, dict):
        return {clean(str(key), secrets): clean(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item, secrets) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# ----------------------------------------------------------------------------------------------------------------------
# Sizes


class Cut(NamedTuple):
    """What was too big to keep: where it stood (a JSON pointer), what it was, and the digest of its bytes."""

    at: str
    was: str
    sha256: str


def cut(value: Any, at: str, cuts: list[Cut]) -> Any:
    """Returns plain data without big media (null stands in their place) and without the ends of huge texts.

    Args:
        value: Plain data; it is not changed.
        at: The JSON pointer of the value in what is kept.
        cuts: What was cut is added here.
    """
    if isinstance(value, str):
        return _cut_text(value, at, cuts)
    if isinstance(value, (list, tuple)):
        return [cut(item, f"{at}/{i}", cuts) for i, item in enumerate(value)]
    if isinstance(value, dict):
        inner: list[Cut] = []
        kept = {key: cut(item, f"{at}/{step(key)}", inner) for key, item in value.items()}
        cuts.extend(inner if "type" not in value else [_named(found, value, at) for found in inner])
        return kept
    return value


def _named(found: Cut, block: Mapping[str, Any], at: str) -> Cut:
    """The cut of a block's own data is told by the block: its address, and the media type it declares."""
    if found.at != f"{at}/data":
        return found
    return found._replace(at=at, was=found.was.replace("media", str(block.get("media_type") or "media"), 1))


def _cut_text(text: str, at: str, cuts: list[Cut]) -> str | None:
    if len(text) * 3 // 4 > LARGEST_MEDIA and (media := _media(text)) is not None:
        kind, content = media
        if len(content) > LARGEST_MEDIA:
            cuts.append(Cut(at, f"{kind}, {len(content)} bytes", hashlib.sha256(content).hexdigest()))
            return None
    if len(text) > LONGEST_TEXT:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        cuts.append(Cut(at, f"text, {len(text)} characters", digest))
        return text[:LONGEST_TEXT]
    return text


def _media(text: str) -> tuple[str, bytes] | None:
    """Media type and bytes of base64 text or of a data address; prose of that length has spaces in it."""
    address = _DATA_ADDRESS.match(text)
    body = text[address.end() :] if address else text
    if not _BASE64.fullmatch(body):
        return None
    try:
        letters = b"-_" if "-" in body or "_" in body else None
        content = base64.b64decode(body + "=" * (-len(body) % 4), altchars=letters)
    except (binascii.Error, ValueError):
        return None
    return (address[1] if address else None) or "media", content


def step(key: str) -> str:
    """Returns a key as a step of a JSON pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")
