"""Values: what a conversation is made of, before and after any provider. Nothing here knows an API."""

import llmneutral.ir.reduce  # noqa: F401  # the rows of the table that contents are reduced by
