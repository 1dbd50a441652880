"""Values: what a conversation is made of, before and after any provider. Nothing here knows an API."""

from __future__ import annotations

import llmneutral.ir.reduce  # noqa: F401  # the rows of the table that contents are reduced by
