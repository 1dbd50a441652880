"""Nothing secret, nothing infinite, nothing huge: what every value goes through before it is shown, saved or logged.

What must live here: which texts are secrets, and the ways from a live value to plain JSON data. This file knows no
view and no notebook. Every search is linear in the text: a pattern is tried only where its marker stands, and each is
bounded.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from llmneutral_widgets.key_forms import HEADERS, PATTERNS, compiled
from llmneutral_widgets.key_forms import MASK as MASK
from llmneutral_widgets.spellings import any_spelling, octets_of, rewritten, spellings

SHORTEST = 12
"""Characters of an environment value that is taken for a secret: a shorter one would cut holes into ordinary words."""
LARGEST_MEDIA = 32 * 1024
"""Bytes of a picture, sound or document that is kept in a file."""
LONGEST_TEXT = 1_000_000
"""Characters of a text that is kept in a file."""
_ROUNDS = 8
"""One secret taken out may bring another one into sight: `AKIA…sk-…` is one word at first."""
_LONGEST_NAME = 60
"""Characters of a header's name."""
_HELD = 4096
"""Characters at the end of a stream that may still become a secret."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_KEY|AUTH_KEY|SECRET_KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE)(?:_?\d+)?$",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[a-z]+(?:[ _-][a-z]+)*")
"""What a driver is given in the place of a key where none is needed: `no-key-required`. Keys have digits, capitals."""
_HALF = re.compile("[\ud800-\udfff]")
_MEDIA_KINDS = frozenset(["media_type", "mediaType", "mime_type", "mimeType", "format"])
"""What stands beside the base64 of media."""
_MEDIA_BLOCKS = ("image", "audio", "document", "base64")
_MEDIA_KEYS = frozenset(["file_data", "b64_json", "input_audio"])
"""Keys of requests that hold media, beside those of addresses."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_DATA_ADDRESS = re.compile(r"data:([\w.+-]{1,100}/[\w.+-]{1,100})?(?:;[\w.+=-]{1,100}){0,4};base64,")


# ----------------------------------------------------------------------------------------------------------------------
# Secrets


class Secrets:
    """What must never be shown: exact values, and forms.

    Args:
        values: Values that are secret, whatever they look like; those under `SHORTEST` characters are left alone.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = frozenset([value for value in values if len(value) >= SHORTEST])
        self._values = sorted({form for value in known for form in spellings(value)}, key=len, reverse=True)
        self._written = [search for value in sorted(known) if (search := any_spelling(value)) is not None]
        self._octets = sorted({form for value in known for form in octets_of(value)}, key=len, reverse=True)

    def text(self, source: str) -> str:
        """Returns the text with `•••` in the place of every secret. Doing it twice changes nothing more.

        What stands in base64 is read, and what is secret in it masked there: it stays base64, of the masked text.
        """
        for _ in range(_ROUNDS):
            shown = self._masked(rewritten(source, self._masked_octets))
            if shown == source:
                break
            source = shown
        return source

    def _masked(self, source: str) -> str:
        for value in self._values:
            if value in source:
                source = source.replace(value, MASK)
        for written in self._written:
            source = written.sub(MASK, source)
        folded = source.lower()
        for marker, search, replacement in PATTERNS:
            if marker in folded:
                source = compiled(search).sub(replacement, source)
        return source

    def _masked_octets(self, octets: bytes) -> bytes:
        """A file without secrets: known values anywhere, forms of keys where it is a text; a picture is none."""
        for value in self._octets:
            octets = octets.replace(value, MASK.encode())
        try:
            source = octets.decode("utf-8")
        except UnicodeDecodeError:
            return octets
        return self.text(source).encode()

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
    r"(?:(?:key|authorization|token)\\{0,64}[\"']?\s?[:=]\s?\\{0,64}[\"']?(?:bearer|basic|token)?|\bbearer|\bbasic)"
    r"[ \"'\\]*$",
    re.IGNORECASE,
)
_WORD_MARKERS = (
    *[pattern.marker for pattern in PATTERNS if pattern.marker not in ("gh", "kia", "sia", "=")],
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "akia", "asia"),
)


def _overlap(source: str, value: str, least: int) -> int:
    """How much of a value, from a least length on, stands at the end of a text."""
    tail, head = source[1 - len(value) :], value[:least]
    at = tail.find(head)
    while at >= 0 and not value.startswith(tail[at:]):
        at = tail.find(head, at + 1)
    return len(tail) - at if at >= 0 else 0


class _Remembered:
    """Keys that were typed or given in code in this process; they are in no environment."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._lock = threading.Lock()

    def add(self, *values: str) -> None:
        with self._lock:
            self._values.update(values)

    def values(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._values)


_REMEMBERED = _Remembered()


def remember(*secrets: str) -> None:
    """Notes keys that were typed or given in code, so that nothing shows them from now on."""
    _REMEMBERED.add(*secrets)


def current_secrets(environment: Mapping[str, str] | None = None) -> Secrets:
    """Returns the secrets of this moment: of the environment and the key variables the configs know, typed and given.

    Args:
        environment: Instead of the process's own.
    """
    given = os.environ if environment is None else environment
    known = _key_variables()
    values = [value for name, value in given.items() if name in known or _SECRET_NAME.search(name)]
    remember(*[key for key in _given_keys() if not _PLAIN.fullmatch(key)])
    return Secrets([*values, *_REMEMBERED.values()])


def _given_keys() -> frozenset[str]:
    """The keys that drivers of this process were given in code, which are forgotten with the last of these drivers."""
    import llmneutral

    tell: Callable[[], Iterable[str]] | None = getattr(llmneutral, "given_keys", None)
    return frozenset(tell()) if tell else frozenset()


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
        named = _header_of(value.get("name")) if isinstance(value.get("value"), str) else None
        return {
            clean(str(key), secrets): _cleaned(named if key == "value" else _header_of(key), item, secrets)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        named = _header_of(value[0]) if len(value) == 2 else None
        return [_cleaned(named if place == 1 else None, item, secrets) for place, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _header_of(name: Any) -> str | None:
    """The header that holds a key, if that is what a name means."""
    folded = name.lower() if isinstance(name, str) and len(name) <= _LONGEST_NAME else ""
    return next((header for header in HEADERS if folded.endswith(header)), None)


def _cleaned(header: str | None, value: Any, secrets: Secrets) -> Any:
    """A value of plain data; that of a header is read with its name, as in the text of that data."""
    found = clean(value, secrets)
    if header is None or not isinstance(found, str):
        return found
    before = f'"{header}": "'
    return secrets.text(f'{before}{found}"')[len(before) : -1]


# ----------------------------------------------------------------------------------------------------------------------
# Sizes


class Cut(NamedTuple):
    """What was too big to keep: where it stood (a JSON pointer), what it was, and the digest of its bytes."""

    at: str
    was: str
    sha256: str


def cut(value: Any, at: str, cuts: list[Cut]) -> Any:
    """Returns plain data without big media (null stands in their place) and without the ends of huge texts.

    What is media is told by where it stands, and not by its letters: a text may consist of those of base64 alone.

    Args:
        value: Plain data; it is not changed.
        at: The JSON pointer of the value in what is kept.
        cuts: What was cut is added here.
    """
    return _cut(value, at, cuts, is_media=False)


def _cut(value: Any, at: str, cuts: list[Cut], *, is_media: bool) -> Any:
    if isinstance(value, str):
        return _cut_text(value, at, cuts, is_media=is_media)
    if isinstance(value, (list, tuple)):
        return [_cut(item, f"{at}/{i}", cuts, is_media=is_media) for i, item in enumerate(value)]
    if isinstance(value, dict):
        inner: list[Cut] = []
        kept = {
            key: _cut(item, f"{at}/{step(key)}", inner, is_media=_holds_media(key, value, at))
            for key, item in value.items()
        }
        cuts.extend(inner if "type" not in value else [_named(found, value, at) for found in inner])
        return kept
    return value


def _holds_media(key: str, beside: Mapping[str, Any], at: str) -> bool:
    """Whether a key holds media, in a block of ours or in a request of any API: address, or base64 with its kind."""
    name = str(key).lower()
    if name == "data":
        return not _MEDIA_KINDS.isdisjoint(beside) or beside.get("type") in _MEDIA_BLOCKS
    if name == "bytes":  # Bedrock has the kind one step up
        return at.endswith("/source")
    is_address = name.endswith(("url", "uri")) and str(beside[key])[:5].lower() == "data:"
    return is_address or name in _MEDIA_KEYS


def _named(found: Cut, block: Mapping[str, Any], at: str) -> Cut:
    """The cut of a block's own data is told by the block: its address, and the media type it declares."""
    if found.at != f"{at}/data":
        return found
    return found._replace(at=at, was=found.was.replace("media", str(block.get("media_type") or "media"), 1))


def _cut_text(text: str, at: str, cuts: list[Cut], *, is_media: bool) -> str | None:
    if is_media and len(text) * 3 // 4 > LARGEST_MEDIA and (media := _media(text)) is not None:
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
    """Media type and bytes of base64, or of a data address in base64."""
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
