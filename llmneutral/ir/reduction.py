"""The open table of reductions, without its rows: what knows the contents and what they know both import it.

The rows stand in `llmneutral.ir.reduce`, which the package loads with its first module.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any


@singledispatch
def contents_of(artifact: Any) -> tuple[Any, ...]:
    """Returns the contents that an artifact stands for; dispatched by its type, `contents_of.register` adds a row.

    Raises:
        TypeError: If bytes are given without a media type.
    """
    raise TypeError(f"no row for {type(artifact).__name__}: llmneutral.ir.reduce holds them")
