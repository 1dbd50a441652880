"""Agent: a model, its tools, and the conversation."""

from __future__ import annotations

from llmneutral.agent.agent import Agent
from llmneutral.agent.memory import ConversationMemory
from llmneutral.agent.result import AgentResult
from llmneutral.agent.streams import AgentStream, AsyncAgentStream

__all__ = ["Agent", "AgentResult", "AgentStream", "AsyncAgentStream", "ConversationMemory"]
