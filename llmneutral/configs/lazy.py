"""`lazy_property`, by which a config in Griptape's style makes a driver at its first use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def lazy_property() -> Callable[[Callable[[Any], Any]], functools.cached_property[Any]]:
    """Returns a decorator: the method becomes a property that is worked out once for each object.

    class OwnDriversConfig(DriversConfig):
        @lazy_property()
        def prompt_driver(self):
            return AnthropicPromptDriver(model="claude-sonnet-5-5")
    """
    return functools.cached_property
