"""Takes secrets out of texts, before they become part of an error, an event or a page.

What must live here: the patterns of keys and credentials, and one public function. This file knows no error class.
"""

from __future__ import annotations

import functools
import re

MASK = "•••"
"""Stands where a secret stood."""

_SHORTEST = 6
"""A known secret shorter than this is left alone: it would cut holes into ordinary words."""


def scrub(text: str, *secrets: str) -> str:
    """Returns the text with every known form of a secret replaced by `•••`.

    Known are keys by their prefixes (`sk-…`, `sk-ant-…`, `AIza…`, `AKIA…` and others), bearer tokens, values of key
    headers, credentials in URLs, the signed parts of query strings, and base64 media (not secret, but private and
    long). What only stands in the place of a key (`$OPENAI_API_KEY`, `{token}`, `YOUR_KEY`, `os.environ[…]`) is none.
    Scrubbing twice changes nothing more.

    Args:
        text: Any text.
        *secrets: Strings that are known to be secret, such as the key in use.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    for pattern, replacement in _rules():
        text = pattern.sub(replacement, text)
    return text


@functools.cache
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Compiles on first use: most programs never see an error."""
    return tuple((re.compile(pattern), replacement) for pattern, replacement in _PATTERNS)


_START = (
    r"(?:\b|(?<=\\[nrtbf])|(?<=\\x[0-9a-fA-F]{2})|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9a-fA-F]{2})|(?<=%25[0-9a-fA-F]{2})"
    r"|(?<=%5C[nrtbf]))"
)
"""Where a word begins, though an escape of JSON's or an octet of an address may stand before it without a gap."""
_BEGINNINGS = "|".join(
    (
        # OpenAI, Anthropic, Groq, xAI, Hugging Face, GitHub …: with a digit or a capital, so that no word is taken.
        (
            r"(?:pk|rk|csk|gsk|xai|hf|r8|fw|nvapi|pplx|ghp|gho|ghu|ghs|github_pat|glpat|dapi|tgp_v1)[-_]"
            r"(?=[A-Za-z0-9_\-]*[0-9A-Z])[A-Za-z0-9_\-]{12,}"
        ),
        r"sk-(?:[A-Za-z0-9_\-]{9,}|(?=[A-Za-z_\-]*[0-9])[A-Za-z0-9_\-]{5,})",
        r"AIza[0-9A-Za-z_\-]{16,}",
        r"ya29\.[0-9A-Za-z_\-.]{8,}",
        r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{8,}",
        r"bedrock-api-key-[A-Za-z0-9+/=_\-]{8,}",
        r"ey[JK][A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?",  # JSON web tokens
    )
)
_KEYS = f"{_START}(?:{_BEGINNINGS})"
_LABEL = (
    r"api[-_ ]?key|authorization|aws[-_]?secret[-_]?access[-_]?key|subscription-key|x-amz-security-token"
    r"|client[-_]secret|access[-_]token|refresh[-_]token|password|passwd|secret[-_]key"
)
_SENTENCE = r"(?-i:(?<=_KEY: )[a-z]{6,12} [a-z])"
"""Where a sentence goes on behind the name of a variable, as in `no OPENAI_API_KEY: answering with …`. Keys are longer,
have digits or capitals, and no word follows them on their line."""
_NAME = r"_{0,2}[a-zA-Z]{1,24}\d{0,2}(?:[._-]{1,2}[a-zA-Z]{1,24}\d{0,2}){0,6}"
"""A name, as variables and their fields have: digits stand at the ends of its words, which they do in no key."""
_FIELD = rf"\$?\{{{{1,3}}\s?{_NAME}(?:[\[(][^{{}},|\n]{{0,60}}[\])])?(?:![rsa])?\s?\}}{{1,3}}"
_STANDING_IN = (
    r"\[?(?-i:your|YOUR|Your)[a-zA-Z]{0,16}(?:[_-][a-zA-Z]{1,16}){0,6}\]?"
    r"|(?:[a-zA-Z]{1,8}[_-]){0,4}(?:x{3,64}|X{3,64}|\*{3,64}|\.{3}|\u2026)"
    r"|(?-i:[A-Z]{2,16}(?:_[A-Z]{2,16}){0,5}_(?:\d{1,2}|[A-Z]{2,16}))"
)
_END = r"(?![\w~+/=$%{-]|[.:,;!?)\]}]+[\w$%{])"
_PLACEHOLDER = (
    rf"(?:(?:\${_NAME}|{_FIELD}|%{_NAME}%|{_STANDING_IN}){_END}"
    r"|(?:process\.env|os\.environ|os\.getenv|import\.meta\.env)(?:\.\w{1,60}|\[|\(|\.get\()"
    rf"|{_NAME}[\[(](?:\)|\\{{0,64}}[\"']))"
)
"""What stands in the place of a key: a variable, a field of a template, a word of advice, dots, code that reads it."""
_OF_ADDRESS = rf"(?:\$(?-i:[A-Z_]{{2,60}})|{_FIELD}|%{_NAME}%|{_STANDING_IN})"
_NO_USER = rf"(?!(?:git|:|(?:[a-z_]{{0,16}}:|{_OF_ADDRESS}:)?{_OF_ADDRESS})@)"
_SIGNED = (
    r"key|api[-_]?key|sig|signature|token|access_token|auth|password|secret|awsaccesskeyid"
    r"|x-(?:amz|goog)-(?:signature|credential|security-token)"
)
_PATTERNS = (
    # Media first, so that what else is found is no accident of base64. A data URL keeps its media type.
    (r"(data:[\w.+/\-]*(?:;[\w.+=\-]+)*;base64,)[A-Za-z0-9+/=_\-]{64,}", rf"\1{MASK}"),
    (r"[A-Za-z0-9+/=_\-]{512,}", MASK),
    (rf"(?i)\b([a-z][a-z0-9+.\-]*://){_NO_USER}[^\s/@\"'<>?#]+@", rf"\1{MASK}@"),
    (_KEYS, MASK),
    (rf"(?i)([?&](?:{_SIGNED})=)(?!{_PLACEHOLDER})[^&\s\"'<>#\\]+", rf"\1{MASK}"),
    (
        (
            rf"(?i){_START}((?:bearer|basic)\s+)(?!token|auth|key|scheme|header|credential|{_PLACEHOLDER})"
            r"[A-Za-z0-9._~+/=\-]{6,}"
        ),
        rf"\1{MASK}",
    ),
    (
        (
            rf"(?i)((?:{_LABEL})\\{{0,64}}[\"']?\s*[:=]\s*\\{{0,64}}[\"']?)"
            rf"(?!bearer\b|basic\b|none\b|null\b|{_PLACEHOLDER}|{_SENTENCE})"
            r"[A-Za-z0-9._~+/=\-]{6,}"
        ),
        rf"\1{MASK}",
    ),
)
