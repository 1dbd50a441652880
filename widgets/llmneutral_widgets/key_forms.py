"""The forms of keys: how they begin, where they stand in headers and addresses, and what only looks like one.

What must live here: one pattern for each form, and what takes the place of a secret. Every search is linear in the
text: a pattern is tried only where its marker stands, and each is bounded.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

MASK = "•••"
"""Stands where a secret stood."""


class Pattern(NamedTuple):
    """A form of secret: the marker without which it cannot stand in a text, the search, what takes its place."""

    marker: str
    search: str
    replacement: str


@functools.cache
def compiled(search: str) -> re.Pattern[str]:
    """A search, compiled when its marker is first met: most never are."""
    return re.compile(search, re.IGNORECASE)


def _pattern(marker: str, search: str, replacement: str = MASK) -> Pattern:
    return Pattern(marker, search, replacement)


_ESCAPES = (
    *(r"\\[nrtbf]", r"\\x[0-9a-f]{2}", r"\\u[0-9a-f]{4}"),
    *("%[0-9a-f]{2}", "%25[0-9a-f]{2}", "%2525[0-9a-f]{2}", "%5C[nrtbf]", "%255C[nrtbf]", "%25255C[nrtbf]"),
)


def _first(head: str) -> str:
    """A beginning of one length where a word begins: an escape of JSON's or an octet of an address may end before it.

    The search looks for the beginning first, and then at what stands before it: that is many times faster.
    """
    return rf"{head}(?:(?<![a-z0-9]{head})|{'|'.join([rf'(?<={escape}{head})' for escape in _ESCAPES])})"


def _key(head: str, rest: str) -> Pattern:
    """A key by its beginning."""
    return _pattern(head.lower(), _first(re.escape(head)) + rest)


def _bearer(head: str, word: str) -> Pattern:
    """A token behind `bearer`, but not what is a word of a sentence there."""
    none = rf"{_HIDDEN}|{_PLACEHOLDER}|{word}(?![\w~+/=-]|\.\w)"
    return _pattern("bearer", rf"({_first(head)}{_GAP}{{1,4}})(?!{none})[\w.~+/=-]{{6,4000}}", rf"\1{MASK}")


_QUOTE = r"(?:b?\\{0,64}(?:[\"']|&(?:quot|apos|#34|#39|#x27);)|\\{1,64}|%(?:25){0,3}2[27])"
"""A quote as it stands in JSON (also in JSON in JSON), in Python's spelling, in an address, in HTML."""
_GAP = r"(?:\s|\+|%(?:25){0,3}20)"
_COLON = r"(?:[:=]|%(?:25){0,3}3[AD])"
_SCHEME = r"(?:bearer|basic|token|apikey)"
_SIGN = r"(?:[^\s\"'`,;<>&\\%]|%(?!(?:25){0,3}(?:2[27C]|7D|3B|0[AD]))|\\{1,64}/)"
_VALUE = rf"{_SIGN}{{6,4000}}"
"""What a header holds: up to its closing quote, whatever that is written like."""

# What stands in the place of a key, in answers and examples: a variable, a field of a template, a word of advice, dots.
_NAME = r"_{0,2}[a-z]{1,24}\d{0,2}(?:[._-]{1,2}[a-z]{1,24}\d{0,2}){0,6}"
"""A name, as variables and their fields have: digits stand at the ends of its words, which they do in no key."""
_CONSTANT = r"(?-i:[A-Z]{2,16}(?:_[A-Z]{2,16}){0,5}_(?:\d{1,2}|[A-Z]{2,16}))"
_FIELD = rf"\$?\{{{{1,3}}\s?{_NAME}(?:[\[(][^{{}},|\n]{{0,60}}[\])])?(?:![rsa])?\s?\}}{{1,3}}"
_ADVICE = r"\[?your[a-z]{0,16}(?:[_-][a-z]{1,16}){0,6}\]?|(?:[a-z]{1,8}[_-]){0,4}(?:x{3,64}|\*{3,64}|\.{3}|\u2026)"
_OF_PROCESS = r"(?:process\.env|os\.environ|os\.getenv|import\.meta\.env)(?:\.\w{1,60}|(?=[\[(]|\.get\())"
_END = rf"(?!(?![.,:;!?)\]}}#]){_SIGN}|[.:#][\w$%{{])"
_PLACEHOLDER = (
    rf"(?:\$(?:\(|(?:env:)?{_NAME}{_END}|\w{{0,8}}\[)|{_FIELD}{_END}|%{_NAME}%{_END}|%\({_NAME}\)s"
    rf"|(?:{_ADVICE}|{_CONSTANT}){_END}|{_OF_PROCESS})"
)
_HIDDEN = r"•|\\+u2022"
_OF_ADDRESS = rf"(?:\$(?-i:[A-Z_]{{2,60}})|{_FIELD}|%{_NAME}%|{_ADVICE}|{_CONSTANT})"
_NO_USER = rf"(?!(?:git|:|(?:[a-z_]{{0,16}}:|{_OF_ADDRESS}:)?{_OF_ADDRESS})(?:@|%40))"
"""Before the `@` of an address: the user of all repositories, or placeholders."""


HEADERS = ("api-key", "x-amz-security-token", "authorization")
"""Headers that hold keys, in any case; also as the end of another one's name: `x-api-key`, `proxy-authorization`."""
_NAMES = "|".join(HEADERS)


def _header(name: str) -> Pattern:
    """A header in any notation: `name: value`, `"name": "value"` (also escaped), `name=value`, `(b"name", b"value")`.

    What may be a sentence (`authorization: required`), a list of names or code is none: there, a key has a digit.
    """
    plain = rf"{_QUOTE}?{_GAP}{{0,4}}{_COLON}{_GAP}{{0,4}}(?:{_QUOTE}|`)?"
    comma = rf"{_QUOTE}(?:,|%(?:25){{0,3}}2C){_GAP}{{0,4}}{_QUOTE}"
    named = rf"{comma}value{_QUOTE}{_COLON}{_GAP}{{0,4}}{_QUOTE}"
    pair = rf"{comma}(?!x-)(?=[^\"'\s\d]{{0,40}}\d)"
    words = "*" if name == "authorization" else "+"
    code = rf"(?<![\"';])[a-z]{{1,24}}(?:[._]{{1,2}}[a-z]{{1,24}}){words}(?![\w.~+/=%-])"
    code += rf"|(?<![\"';]){_NAME}[\[(]"
    code += rf"|(?:\w{{1,20}}-){{0,4}}(?:{_NAMES})(?![\w-])"
    before = rf"{re.escape(name)}(?:{plain}|{named}|{pair})(?:{_SCHEME}{_GAP}{{1,4}}|(?!{_SCHEME}\b|{code}))"
    return _pattern(name, rf"({before})(?!{_HIDDEN}|{_PLACEHOLDER}){_VALUE}", rf"\1{MASK}")


def _octet_but(codes: str) -> str:
    """A sign of an address in an address, but for some that end what is looked for."""
    return rf"[^\s&/@\"'<>?#\\%]|%(?!(?:25){{0,3}}(?:{codes}))"


_SIGNED = (
    r"key|api[_-]?key|sig|signature|token|access_token|auth|password|secret|awsaccesskeyid"
    r"|x-(?:amz|goog)-(?:signature|credential|security-token)"
)
PATTERNS: tuple[Pattern, ...] = (
    # Keys by their beginnings (OpenAI, Anthropic, Groq, xAI, Hugging Face, GitHub, Google, Amazon, web tokens). A digit
    # must follow soon, so that no word is taken for one; a letter before them means the middle of a word.
    _key("sk-", r"(?=[\w-]{0,40}\d)[\w-]{8,4000}"),
    _key("gsk_", r"(?=\w{0,40}\d)\w{12,4000}"),
    _key("xai-", r"(?=[\w-]{0,40}\d)[\w-]{12,4000}"),
    _key("hf_", r"[a-z0-9]{16,4000}"),
    *[_key(f"gh{letter}_", r"[a-z0-9]{16,4000}") for letter in "pousr"],
    _key("github_pat_", r"\w{20,4000}"),
    _key("glpat-", r"[\w-]{18,4000}"),
    _key("aiza", r"[\w-]{16,4000}"),
    _key("ya29.", r"[\w.-]{20,4000}"),
    _key("pplx-", r"(?=[a-z]{0,40}\d)[a-z0-9]{24,4000}"),
    _key("csk-", r"(?=[a-z]{0,40}\d)[a-z0-9]{24,4000}"),
    _key("nvapi-", r"(?=[\w-]{0,40}\d)[\w-]{32,4000}"),
    _key("r8_", r"(?=[a-z]{0,40}\d)[a-z0-9]{24,4000}"),
    _key("tgp_v1_", r"[\w-]{20,4000}"),
    _key("AKIA", r"(?-i:(?<=AKIA)[0-9A-Z]{12,4000})"),
    _key("ASIA", r"(?-i:(?<=ASIA)[0-9A-Z]{12,4000})"),
    _key("bedrock-api-key-", r"[\w+/=-]{16,4000}"),
    _key("eyJ", r"(?-i:(?<=eyJ)(?<![_-]eyJ))[\w-]{8,4000}\.[\w-]{4,8000}(?:\.[\w-]{0,4000})?"),
    _pattern(
        "private key-----",
        r"(-----BEGIN [a-z ]{0,30}PRIVATE KEY-----)"
        r"(?=(?:\\{1,64}[nr]|\s){1,8}[a-z0-9+/]{40})(?:(?:\\{1,64}[nr]|\s){1,8}[a-z0-9+/]{1,4000}={0,2}){1,400}",
        rf"\1{MASK}",
    ),
    # What stands in headers and addresses.
    _bearer("bearer", r"(?-i:[a-z]{1,16})"),
    _bearer("(?-i:Bearer)", r"(?:tokens?|auth[a-z]{0,16}|headers?|schemes?|credentials?|access|security)"),
    _pattern(
        "basic",
        rf"({_first('basic')}{_GAP}{{1,4}})(?-i:(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?=[A-Za-z+/]*[0-9=]))"
        r"(?:[\w+/]{4}){2,1000}(?:[\w+/]{4}|[\w+/]{3}=|[\w+/]{2}==)(?![\w+/=])",
        rf"\1{MASK}",
    ),
    *map(_header, HEADERS),
    _pattern("://", rf"(?<=://){_NO_USER}[^\s/@\"'<>?#]{{1,500}}@", f"{MASK}@"),
    _pattern(r":\/\/", rf"(?<=:\\/\\/){_NO_USER}[^\s/@\"'<>?#\\]{{1,500}}@", f"{MASK}@"),
    _pattern("%3a//", rf"(?<=%3A//){_NO_USER}[^\s/@\"'<>?#]{{1,500}}(?:@|%40)", f"{MASK}@"),
    _pattern(
        "2f%",
        rf"(%(?:25){{0,3}}3A(?:%(?:25){{0,3}}2F){{2}})(?!git%)(?:{_octet_but('2F|40|3F|23|0A')}){{1,500}}(%(?:25){{0,3}}40)",
        rf"\1{MASK}\2",
    ),
    _pattern(
        "=",
        rf"((?:[?&](?:amp;)?|\\u0026)(?:{_SIGNED})=)(?!{_HIDDEN}|{_PLACEHOLDER})[^&\s\"'<>#\\]{{4,4000}}",
        rf"\1{MASK}",
    ),
    _pattern(
        "3d",
        rf"(%(?:25){{0,3}}(?:3F|26)(?:{_SIGNED})%(?:25){{0,3}}3D)(?!•)(?:{_octet_but('26|23|22|0A')}){{4,4000}}",
        rf"\1{MASK}",
    ),
)
