"""The spellings of a secret: how a known value stands in texts, and how a text stands in base64.

What must live here: the notations that a secret may be written in without being seen: JSON (also JSON in JSON),
Python's `repr`, addresses, HTML, base64. This file knows no form of key; every function takes time linear in what it is
given.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

_PLAIN = re.compile(r"[A-Za-z0-9._~-]*")
"""What is written the same in every notation."""
_PERCENT = "%(?:25){0,6}"
_SLASH = rf"(?:\\|{_PERCENT}5C|&#(?:92|x5c);)"
"""A backslash. Before a sign there are twice as many and one more in each text within a text: 256 are eight deep."""
_AMPERSAND = rf"(?:&(?:amp;){{0,6}}|{_PERCENT}26(?:amp{_PERCENT}3B){{0,6}})"
_SEMICOLON = rf"(?:;|{_PERCENT}3B)"
_ESCAPED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_LETTER = "[A-Za-z0-9+/_-]"
_RUN = re.compile(rf"(?<!{_LETTER})(?={_LETTER}{{16}})(?:{_LETTER}{{64}}(?:{_LETTER}{{12}})?\r?\n)*{_LETTER}+={{0,2}}")
"""A run of base64's letters, or lines of them, as mail and `base64 FILE` have it."""
_ESCAPE = re.compile(r"\\(?:[nrtbf]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})|%(?:25)*(?:5C[nrtbf]|[0-9A-Fa-f]{2})")
"""What may stand before a run without a gap: an escape of JSON's, an octet of an address."""


@functools.lru_cache(maxsize=512)
def spellings(value: str) -> frozenset[str]:
    """Returns how a value stands in a text: as it is, escaped once, in base64. These are known by their beginnings."""
    return frozenset([value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe=""), *_cores(value)])


@functools.lru_cache(maxsize=512)
def any_spelling(value: str) -> re.Pattern[str] | None:
    """Returns a search for a value in any notation, and in notations within notations; None if all write it alike."""
    if _PLAIN.fullmatch(value):
        return None
    return re.compile("".join([re.escape(sign) if _PLAIN.fullmatch(sign) else _any_sign(sign) for sign in value]))


def _any_sign(sign: str) -> str:
    """A sign as it is, behind backslashes, by its number, as octets of an address, by its name in HTML."""
    number, many = ord(sign), rf"{_SLASH}{{1,256}}"
    units = sign.encode("utf-16-be", "surrogatepass")
    octets = sign.encode("utf-8", "surrogatepass")
    name = "|".join(
        [*([_NAMED[sign]] if sign in _NAMED else []), rf"(?:#|{_PERCENT}23)(?:{number}|x0{{0,4}}{number:x})"]
    )
    ways = [
        many if sign == "\\" else rf"{_SLASH}{{0,256}}{re.escape(sign)}",
        "".join([rf"{many}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]),
        f"{_SLASH}{{0,256}}" + "".join([rf"{_PERCENT}{octet:02x}" for octet in octets]),
        f"{_SLASH}{{0,256}}{_AMPERSAND}(?:{name}){_SEMICOLON}",
        rf"{many}(?:x0{{0,6}}{number:x}|U0{{0,6}}{number:x})",
    ]
    ways += [many + _ESCAPED[sign]] if sign in _ESCAPED else []
    ways += [rf"\+|{_PERCENT}2B"] if sign == " " else []
    written = f"(?i:{'|'.join(ways)})"
    # Lines may be set in, quoted, or joined.
    return rf"(?:\r|{many}r|{_PERCENT}0[Dd])?(?:{written}|[ ])[ \t>|#]{{0,40}}" if sign == "\n" else written


def _cores(value: str) -> Iterator[str]:
    """What of a value stands in base64 whatever is before and after it: that depends on where it begins."""
    octets = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        written = base64.b64encode(b"\0" * before + octets).decode()
        core = written[-(-before * 8 // 6) : (before + len(octets)) * 8 // 6]
        yield core
        yield core.translate(_SAFE)


_SAFE = str.maketrans("+/", "-_")


def octets_of(value: str) -> Iterator[bytes]:
    """Gives a value as it stands in files of the common encodings."""
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        yield value.encode(encoding, "surrogatepass")


def rewritten(text: str, change: Callable[[bytes], bytes]) -> str:
    """Returns a text in which what stands in base64 is changed, and stands in base64 again.

    Args:
        text: Any text; where nothing is changed it stays as it is, to the letter.
        change: Is given the octets of each run of base64, and of each word that might be one.
    """
    return _RUN.sub(lambda found: _replaced(found, change), text)


def _replaced(found: re.Match[str], change: Callable[[bytes], bytes]) -> str:
    """A run with what is no part of it left before it."""
    run, start = found[0], found.start()
    escape = _ESCAPE.match(found.string, start - 1) if start else None
    before = 0 if escape is None else escape.end() - start
    return run[:before] + _rewritten(run[before:], change)


def _rewritten(run: str, change: Callable[[bytes], bytes]) -> str:
    letters = "".join(run.split()).rstrip("=")
    safe = "-" in letters or "_" in letters
    if safe and ("+" in letters or "/" in letters):
        return run
    whole = len(letters) - (len(letters) % 4 == 1)  # one letter alone is no octet: what is too much stays behind it
    marks = b"-_" if safe else None
    try:
        octets = base64.b64decode(letters[:whole] + "=" * (-whole % 4), altchars=marks)
    except (binascii.Error, ValueError):
        return run
    changed = change(octets)
    if changed == octets:
        return run
    written = base64.b64encode(changed, altchars=marks).decode()
    return (written if run.endswith("=") or whole % 4 == 0 else written.rstrip("=")) + letters[whole:]
