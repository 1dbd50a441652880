"""Where Griptape has its Agent: `from llmneutral.structures import Agent`."""

from __future__ import annotations

from llmneutral.agent import Agent

__all__ = ["Agent"]
