"""Names of models: one spelling for all of them, and patterns that match whole segments.

What must live here: how a model's id is brought to one form, and what a pattern means. Which model has which facts
stands in `rows`.
"""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=4096)
def normalize_model(model: str) -> str:
    """Returns the id of a model in the form that patterns are matched against.

    Lower case; without the prefixes of vendors, regions and resources (`anthropic/`, `models/`, `us.anthropic.`, an
    ARN, `ft:`); dots of Claude as hyphens; without a date, a version of Bedrock, a variant of OpenRouter and `-latest`
    at the end. `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `anthropic/claude-sonnet-4.5` are both
    `claude-sonnet-4-5`.

    Args:
        model: The id as any provider writes it.
    """
    name = model.strip().lower()
    if name.startswith("ft:"):  # ft:gpt-4o-2024-08-06:organisation::id
        name = name.split(":")[1]
    name = name.rpartition("/")[2]
    name = _VENDOR.sub("", _REGION.sub("", name))
    name = name.replace("deepseek.", "deepseek-", 1) if name.startswith("deepseek.") else name
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return name.replace(".", "-") if "claude" in name else name


def matches(pattern: str, normalized: str) -> bool:
    """Tells whether a pattern names a model.

    A pattern is matched on whole segments: it begins at the start or after `-`, `.`, `:` or `_`, and ends at the end
    or before one of them. A pattern that ends in a number is a version, and no further number may follow: `opus-4`
    matches `claude-opus-4` and `claude-opus-4-preview`, but neither `claude-opus-4-8` nor `claude-opus-48`. `*`
    stands for any characters.

    Args:
        pattern: In any case; a whole id of a provider is brought to its normal form first.
        normalized: A model in the form of `normalize_model`.
    """
    return _compiled(pattern).search(normalized) is not None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = "*" if pattern.strip() == "*" else normalize_model(pattern)
    body = ".*".join(re.escape(piece) for piece in text.split("*"))
    end = "" if text.endswith("*") else r"(?=$|[-.:_])"
    # A segment of one or two digits continues a version; 8b, 001 and 2411 are sizes, builds and dates.
    further = r"(?![-.]\d{1,2}(?:$|[-.:_]))" if text[-1:].isdecimal() else ""
    return re.compile(rf"(?:^|(?<=[-.:_])){body}{end}{further}")


_REGION = re.compile(r"^(?:us|eu|apac|global|us-gov|jp|au|ca|sa|me|uk|in)\.(?=[a-z0-9]+\.)")
_VENDOR = re.compile(
    r"^(?:ai21|amazon|anthropic|cohere|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability"
    r"|twelvelabs|writer|xai|zai)\.(?=[a-z])"
)
"""Bedrock writes `vendor.model`; a dot elsewhere belongs to a version."""

_SUFFIX = re.compile(
    r"(?:@[\w.\-]*"  # a version of Vertex: @20250929, @default
    r"|-\d{8}|-20\d\d-\d\d-\d\d"  # a date
    r"|-v\d+:\d+(?::\w+)?|-\d+:\d+(?::\w+)?|(?<=\d)-v\d+"  # a version of Bedrock
    r"|:(?:free|nitro|floor|beta|extended|online|exacto|thinking|latest)"  # a variant of OpenRouter, a tag of Ollama
    r"|-latest)$"
)
