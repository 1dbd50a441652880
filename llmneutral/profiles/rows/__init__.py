"""The rows of the table: facts by API, by endpoint and by family of models, each row with its source.

What must live here: data. What a fact means stands in `facts`, how rows are put together in `lookup`.
"""

from __future__ import annotations

from llmneutral.profiles.rows.apis import API_ROWS
from llmneutral.profiles.rows.claude import CLAUDE_ROWS
from llmneutral.profiles.rows.endpoints import ENDPOINT_ROWS
from llmneutral.profiles.rows.gpt import GPT_ROWS
from llmneutral.profiles.rows.others import OTHER_ROWS
from llmneutral.profiles.rows.row import ApiRow, EndpointRow, ModelRow
from llmneutral.profiles.rows.vendors import VENDOR_ROWS

MODEL_ROWS: tuple[ModelRow, ...] = (*CLAUDE_ROWS, *GPT_ROWS, *VENDOR_ROWS, *OTHER_ROWS)
"""Families of models, in the order in which they are tried; the first that fits counts."""

__all__ = ["API_ROWS", "ENDPOINT_ROWS", "MODEL_ROWS", "ApiRow", "EndpointRow", "ModelRow"]
