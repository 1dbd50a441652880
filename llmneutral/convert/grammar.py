"""JSON held to a schema by a grammar: llama.cpp's field `grammar`, in the notation of llguidance.

Source: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmneutral.ir.jsontext import dumps

HEAD = "%llguidance {}\nstart: %json "


def json_grammar(schema: Mapping[str, Any]) -> str:
    """Returns a grammar that lets only compact JSON of this schema through, from the first token on.

    It is the value of the field `grammar` of a Chat Completions or Responses request. `response_format` is no
    substitute: it lets a small model open with endless white space.

    Args:
        schema: A JSON Schema. Bound its arrays and strings (`maxItems`, `maxLength`), or greedy decoding may repeat
            an element until `max_tokens`.
    """
    return HEAD + dumps({**schema, "x-guidance": {"whitespace_flexible": False}})
