"""One conversation, every provider's API.

A `PromptStack` of neutral messages is converted into the request of any API, and every change that makes is
reported; answers, whole or streamed, come back in one form. Names are loaded at first use: importing the
package imports no SDK.

    import llmneutral

    conversion = llmneutral.convert("What is a monad?", "anthropic_messages", model="claude-sonnet-5-5")
    conversion.payload, conversion.changes
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmneutral.agent import Agent as Agent
    from llmneutral.agent import AgentResult as AgentResult
    from llmneutral.agent import AgentStream as AgentStream
    from llmneutral.agent import AsyncAgentStream as AsyncAgentStream
    from llmneutral.agent import ConversationMemory as ConversationMemory
    from llmneutral.configs import CONFIGS as CONFIGS
    from llmneutral.configs import AmazonBedrockDriversConfig as AmazonBedrockDriversConfig
    from llmneutral.configs import AnthropicDriversConfig as AnthropicDriversConfig
    from llmneutral.configs import AzureOpenAiDriversConfig as AzureOpenAiDriversConfig
    from llmneutral.configs import CodexAppServerDriversConfig as CodexAppServerDriversConfig
    from llmneutral.configs import CohereDriversConfig as CohereDriversConfig
    from llmneutral.configs import DashScopeDriversConfig as DashScopeDriversConfig
    from llmneutral.configs import DeepSeekDriversConfig as DeepSeekDriversConfig
    from llmneutral.configs import Defaults as Defaults
    from llmneutral.configs import DriversConfig as DriversConfig
    from llmneutral.configs import DummyDriversConfig as DummyDriversConfig
    from llmneutral.configs import GoogleDriversConfig as GoogleDriversConfig
    from llmneutral.configs import GroqDriversConfig as GroqDriversConfig
    from llmneutral.configs import KimiCodingDriversConfig as KimiCodingDriversConfig
    from llmneutral.configs import LocalDriversConfig as LocalDriversConfig
    from llmneutral.configs import LocalServerDriversConfig as LocalServerDriversConfig
    from llmneutral.configs import MiniMaxDriversConfig as MiniMaxDriversConfig
    from llmneutral.configs import MistralDriversConfig as MistralDriversConfig
    from llmneutral.configs import MoonshotDriversConfig as MoonshotDriversConfig
    from llmneutral.configs import OllamaDriversConfig as OllamaDriversConfig
    from llmneutral.configs import OpenAiChatDriversConfig as OpenAiChatDriversConfig
    from llmneutral.configs import OpenAiDriversConfig as OpenAiDriversConfig
    from llmneutral.configs import OpenRouterDriversConfig as OpenRouterDriversConfig
    from llmneutral.configs import ReplayDriversConfig as ReplayDriversConfig
    from llmneutral.configs import Status as Status
    from llmneutral.configs import XAiDriversConfig as XAiDriversConfig
    from llmneutral.configs import drivers_config as drivers_config
    from llmneutral.configs import key_variables as key_variables
    from llmneutral.convert.job import Target as Target
    from llmneutral.convert.provider_transport import ProviderTransport as ProviderTransport
    from llmneutral.convert.report import Change as Change
    from llmneutral.convert.report import Ref as Ref
    from llmneutral.convert.settings import SETTINGS as SETTINGS
    from llmneutral.convert.steps import step_summary as step_summary
    from llmneutral.convert.transport import Conversion as Conversion
    from llmneutral.convert.transport import Transport as Transport
    from llmneutral.drivers.anthropic import AnthropicPromptDriver as AnthropicPromptDriver
    from llmneutral.drivers.base import BasePromptDriver as BasePromptDriver
    from llmneutral.drivers.bedrock import BedrockPromptDriver as BedrockPromptDriver
    from llmneutral.drivers.codex import CodexAppServerPromptDriver as CodexAppServerPromptDriver
    from llmneutral.drivers.cohere import CoherePromptDriver as CoherePromptDriver
    from llmneutral.drivers.counting import TokenCount as TokenCount
    from llmneutral.drivers.dummy import DummyPromptDriver as DummyPromptDriver
    from llmneutral.drivers.fallback import FallbackDriver as FallbackDriver
    from llmneutral.drivers.google import GooglePromptDriver as GooglePromptDriver
    from llmneutral.drivers.keys import given_keys as given_keys
    from llmneutral.drivers.local import LocalPromptDriver as LocalPromptDriver
    from llmneutral.drivers.making import make_driver as make_driver
    from llmneutral.drivers.mistral import MistralPromptDriver as MistralPromptDriver
    from llmneutral.drivers.openai import AzureOpenAiPromptDriver as AzureOpenAiPromptDriver
    from llmneutral.drivers.openai import OpenAiChatPromptDriver as OpenAiChatPromptDriver
    from llmneutral.drivers.openai import OpenAiResponsesPromptDriver as OpenAiResponsesPromptDriver
    from llmneutral.drivers.openai import OwnServerPromptDriver as OwnServerPromptDriver
    from llmneutral.drivers.recordings import Recording as Recording
    from llmneutral.drivers.recordings import load_recordings as load_recordings
    from llmneutral.drivers.recordings import save_recording as save_recording
    from llmneutral.drivers.replay import ReplayPromptDriver as ReplayPromptDriver
    from llmneutral.drivers.streams import AsyncPromptStream as AsyncPromptStream
    from llmneutral.drivers.streams import PromptStream as PromptStream
    from llmneutral.errors import AuthenticationError as AuthenticationError
    from llmneutral.errors import BillingError as BillingError
    from llmneutral.errors import ConfigurationError as ConfigurationError
    from llmneutral.errors import ConflictError as ConflictError
    from llmneutral.errors import ContentFilterError as ContentFilterError
    from llmneutral.errors import ContextLengthError as ContextLengthError
    from llmneutral.errors import ConversionError as ConversionError
    from llmneutral.errors import InvalidRequestError as InvalidRequestError
    from llmneutral.errors import LLMNeutralError as LLMNeutralError
    from llmneutral.errors import MalformedResponseError as MalformedResponseError
    from llmneutral.errors import MissingExtraError as MissingExtraError
    from llmneutral.errors import NotFoundError as NotFoundError
    from llmneutral.errors import OverloadedError as OverloadedError
    from llmneutral.errors import PermissionDeniedError as PermissionDeniedError
    from llmneutral.errors import ProviderConnectionError as ProviderConnectionError
    from llmneutral.errors import ProviderError as ProviderError
    from llmneutral.errors import ProviderTimeoutError as ProviderTimeoutError
    from llmneutral.errors import RateLimitError as RateLimitError
    from llmneutral.errors import RequestTooLargeError as RequestTooLargeError
    from llmneutral.errors import ServerError as ServerError
    from llmneutral.errors import StreamInterruptedError as StreamInterruptedError
    from llmneutral.errors import StructuredOutputError as StructuredOutputError
    from llmneutral.errors import ToolLoopError as ToolLoopError
    from llmneutral.errors import error_from_response as error_from_response
    from llmneutral.errors import scrub as scrub
    from llmneutral.events import ActionChunkEvent as ActionChunkEvent
    from llmneutral.events import ApprovalAnsweredEvent as ApprovalAnsweredEvent
    from llmneutral.events import ApprovalRequestedEvent as ApprovalRequestedEvent
    from llmneutral.events import AudioChunkEvent as AudioChunkEvent
    from llmneutral.events import BaseEvent as BaseEvent
    from llmneutral.events import ConversionChangedEvent as ConversionChangedEvent
    from llmneutral.events import ErrorOccurredEvent as ErrorOccurredEvent
    from llmneutral.events import EventBus as EventBus
    from llmneutral.events import FinishActionEvent as FinishActionEvent
    from llmneutral.events import FinishPromptEvent as FinishPromptEvent
    from llmneutral.events import FinishRunEvent as FinishRunEvent
    from llmneutral.events import FirstDeltaEvent as FirstDeltaEvent
    from llmneutral.events import InterruptedEvent as InterruptedEvent
    from llmneutral.events import ListenerFailedEvent as ListenerFailedEvent
    from llmneutral.events import ParsedPartialEvent as ParsedPartialEvent
    from llmneutral.events import RepairTurnEvent as RepairTurnEvent
    from llmneutral.events import RetryScheduledEvent as RetryScheduledEvent
    from llmneutral.events import StartActionEvent as StartActionEvent
    from llmneutral.events import StartPromptEvent as StartPromptEvent
    from llmneutral.events import StartRunEvent as StartRunEvent
    from llmneutral.events import TextChunkEvent as TextChunkEvent
    from llmneutral.events import ThinkingChunkEvent as ThinkingChunkEvent
    from llmneutral.frames import FrameInterrupt as FrameInterrupt
    from llmneutral.frames import run_frame as run_frame
    from llmneutral.frames import usage_frame as usage_frame
    from llmneutral.ir.artifacts import ActionArtifact as ActionArtifact
    from llmneutral.ir.artifacts import AudioArtifact as AudioArtifact
    from llmneutral.ir.artifacts import BaseArtifact as BaseArtifact
    from llmneutral.ir.artifacts import BlobArtifact as BlobArtifact
    from llmneutral.ir.artifacts import DocumentArtifact as DocumentArtifact
    from llmneutral.ir.artifacts import ErrorArtifact as ErrorArtifact
    from llmneutral.ir.artifacts import GenericArtifact as GenericArtifact
    from llmneutral.ir.artifacts import ImageArtifact as ImageArtifact
    from llmneutral.ir.artifacts import ImageUrlArtifact as ImageUrlArtifact
    from llmneutral.ir.artifacts import InfoArtifact as InfoArtifact
    from llmneutral.ir.artifacts import JsonArtifact as JsonArtifact
    from llmneutral.ir.artifacts import ListArtifact as ListArtifact
    from llmneutral.ir.artifacts import TextArtifact as TextArtifact
    from llmneutral.ir.contents import ActionCallMessageContent as ActionCallMessageContent
    from llmneutral.ir.contents import ActionResultMessageContent as ActionResultMessageContent
    from llmneutral.ir.contents import AudioMessageContent as AudioMessageContent
    from llmneutral.ir.contents import BaseMessageContent as BaseMessageContent
    from llmneutral.ir.contents import DocumentMessageContent as DocumentMessageContent
    from llmneutral.ir.contents import GenericMessageContent as GenericMessageContent
    from llmneutral.ir.contents import ImageMessageContent as ImageMessageContent
    from llmneutral.ir.contents import InvalidActionCallMessageContent as InvalidActionCallMessageContent
    from llmneutral.ir.contents import Origin as Origin
    from llmneutral.ir.contents import RefusalMessageContent as RefusalMessageContent
    from llmneutral.ir.contents import TextMessageContent as TextMessageContent
    from llmneutral.ir.contents import ThinkingMessageContent as ThinkingMessageContent
    from llmneutral.ir.deltas import ActionCallDeltaMessageContent as ActionCallDeltaMessageContent
    from llmneutral.ir.deltas import AudioDeltaMessageContent as AudioDeltaMessageContent
    from llmneutral.ir.deltas import BaseDeltaMessageContent as BaseDeltaMessageContent
    from llmneutral.ir.deltas import DeltaMessage as DeltaMessage
    from llmneutral.ir.deltas import DoneDeltaMessageContent as DoneDeltaMessageContent
    from llmneutral.ir.deltas import GenericDeltaMessageContent as GenericDeltaMessageContent
    from llmneutral.ir.deltas import ImageDeltaMessageContent as ImageDeltaMessageContent
    from llmneutral.ir.deltas import RefusalDeltaMessageContent as RefusalDeltaMessageContent
    from llmneutral.ir.deltas import TextDeltaMessageContent as TextDeltaMessageContent
    from llmneutral.ir.deltas import ThinkingDeltaMessageContent as ThinkingDeltaMessageContent
    from llmneutral.ir.messages import Message as Message
    from llmneutral.ir.reduction import contents_of as contents_of
    from llmneutral.ir.responses import ErrorInfo as ErrorInfo
    from llmneutral.ir.responses import FailedAttempt as FailedAttempt
    from llmneutral.ir.responses import NormalizedResponse as NormalizedResponse
    from llmneutral.ir.responses import RejectedAnswer as RejectedAnswer
    from llmneutral.ir.responses import ResponseMetadata as ResponseMetadata
    from llmneutral.ir.responses import Usage as Usage
    from llmneutral.ir.stack import PromptStack as PromptStack
    from llmneutral.ir.tools import Tool as Tool
    from llmneutral.ir.tools import ToolAction as ToolAction
    from llmneutral.ir.tools import ToolDefinition as ToolDefinition
    from llmneutral.ir.tools import activity as activity
    from llmneutral.pipeline import aggregate as aggregate
    from llmneutral.pipeline import convert as convert
    from llmneutral.pipeline import normalize as normalize
    from llmneutral.pipeline import normalize_stream as normalize_stream
    from llmneutral.pipeline import read_request as read_request
    from llmneutral.prices import Cost as Cost
    from llmneutral.prices import cost_of as cost_of
    from llmneutral.profiles import Profile as Profile
    from llmneutral.profiles import profile as profile
    from llmneutral.profiles import register_profile as register_profile
    from llmneutral.resolve import API_MODES as API_MODES
    from llmneutral.resolve import ApiModeDecision as ApiModeDecision
    from llmneutral.resolve import resolve_api_mode as resolve_api_mode
    from llmneutral.transports import get_transport as get_transport
    from llmneutral.transports import register_transport as register_transport
    from llmneutral.validation import Problem as Problem
    from llmneutral.validation import Validator as Validator
    from llmneutral.validation import validate as validate
    from llmneutral.validation import validator as validator
    from llmneutral.validation.lint import lint as lint

__version__ = "0.1.0"
__all__ = [
    "API_MODES",
    "ActionArtifact",
    "ActionCallDeltaMessageContent",
    "ActionCallMessageContent",
    "ActionChunkEvent",
    "ActionResultMessageContent",
    "Agent",
    "AgentResult",
    "AgentStream",
    "AmazonBedrockDriversConfig",
    "AnthropicDriversConfig",
    "AnthropicPromptDriver",
    "ApiModeDecision",
    "ApprovalAnsweredEvent",
    "ApprovalRequestedEvent",
    "AsyncAgentStream",
    "AsyncPromptStream",
    "AudioArtifact",
    "AudioChunkEvent",
    "AudioDeltaMessageContent",
    "AudioMessageContent",
    "AuthenticationError",
    "AzureOpenAiDriversConfig",
    "AzureOpenAiPromptDriver",
    "BaseArtifact",
    "BaseDeltaMessageContent",
    "BaseEvent",
    "BaseMessageContent",
    "BasePromptDriver",
    "BedrockPromptDriver",
    "BillingError",
    "BlobArtifact",
    "CONFIGS",
    "Change",
    "CodexAppServerDriversConfig",
    "CodexAppServerPromptDriver",
    "CohereDriversConfig",
    "CoherePromptDriver",
    "ConfigurationError",
    "ConflictError",
    "ContentFilterError",
    "ContextLengthError",
    "ConversationMemory",
    "Conversion",
    "ConversionChangedEvent",
    "ConversionError",
    "Cost",
    "DashScopeDriversConfig",
    "DeepSeekDriversConfig",
    "Defaults",
    "DeltaMessage",
    "DocumentArtifact",
    "DocumentMessageContent",
    "DoneDeltaMessageContent",
    "DriversConfig",
    "DummyDriversConfig",
    "DummyPromptDriver",
    "ErrorArtifact",
    "ErrorInfo",
    "ErrorOccurredEvent",
    "EventBus",
    "FailedAttempt",
    "FallbackDriver",
    "FinishActionEvent",
    "FinishPromptEvent",
    "FinishRunEvent",
    "FirstDeltaEvent",
    "FrameInterrupt",
    "GenericArtifact",
    "GenericDeltaMessageContent",
    "GenericMessageContent",
    "GoogleDriversConfig",
    "GooglePromptDriver",
    "GroqDriversConfig",
    "ImageArtifact",
    "ImageDeltaMessageContent",
    "ImageMessageContent",
    "ImageUrlArtifact",
    "InfoArtifact",
    "InterruptedEvent",
    "InvalidActionCallMessageContent",
    "InvalidRequestError",
    "JsonArtifact",
    "KimiCodingDriversConfig",
    "LLMNeutralError",
    "ListArtifact",
    "ListenerFailedEvent",
    "LocalDriversConfig",
    "LocalPromptDriver",
    "LocalServerDriversConfig",
    "MalformedResponseError",
    "Message",
    "MiniMaxDriversConfig",
    "MissingExtraError",
    "MistralDriversConfig",
    "MistralPromptDriver",
    "MoonshotDriversConfig",
    "NormalizedResponse",
    "NotFoundError",
    "OllamaDriversConfig",
    "OpenAiChatDriversConfig",
    "OpenAiChatPromptDriver",
    "OpenAiDriversConfig",
    "OpenAiResponsesPromptDriver",
    "OpenRouterDriversConfig",
    "Origin",
    "OverloadedError",
    "OwnServerPromptDriver",
    "ParsedPartialEvent",
    "PermissionDeniedError",
    "Problem",
    "Profile",
    "PromptStack",
    "PromptStream",
    "ProviderConnectionError",
    "ProviderError",
    "ProviderTimeoutError",
    "ProviderTransport",
    "RateLimitError",
    "Recording",
    "Ref",
    "RefusalDeltaMessageContent",
    "RefusalMessageContent",
    "RejectedAnswer",
    "RepairTurnEvent",
    "ReplayDriversConfig",
    "ReplayPromptDriver",
    "RequestTooLargeError",
    "ResponseMetadata",
    "RetryScheduledEvent",
    "SETTINGS",
    "ServerError",
    "StartActionEvent",
    "StartPromptEvent",
    "StartRunEvent",
    "Status",
    "StreamInterruptedError",
    "StructuredOutputError",
    "Target",
    "TextArtifact",
    "TextChunkEvent",
    "TextDeltaMessageContent",
    "TextMessageContent",
    "ThinkingChunkEvent",
    "ThinkingDeltaMessageContent",
    "ThinkingMessageContent",
    "TokenCount",
    "Tool",
    "ToolAction",
    "ToolDefinition",
    "ToolLoopError",
    "Transport",
    "Usage",
    "Validator",
    "XAiDriversConfig",
    "__version__",
    "activity",
    "aggregate",
    "contents_of",
    "convert",
    "cost_of",
    "drivers_config",
    "error_from_response",
    "get_transport",
    "given_keys",
    "key_variables",
    "lint",
    "load_recordings",
    "make_driver",
    "normalize",
    "normalize_stream",
    "profile",
    "read_request",
    "register_profile",
    "register_transport",
    "resolve_api_mode",
    "run_frame",
    "save_recording",
    "scrub",
    "step_summary",
    "usage_frame",
    "validate",
    "validator",
]

_PLACES = {
    "llmneutral.agent": "Agent AgentResult AgentStream AsyncAgentStream ConversationMemory",
    "llmneutral.configs": (
        "AmazonBedrockDriversConfig AnthropicDriversConfig AzureOpenAiDriversConfig CONFIGS "
        "CodexAppServerDriversConfig CohereDriversConfig DashScopeDriversConfig DeepSeekDriversConfig "
        "Defaults DriversConfig DummyDriversConfig GoogleDriversConfig GroqDriversConfig "
        "KimiCodingDriversConfig LocalDriversConfig LocalServerDriversConfig MiniMaxDriversConfig "
        "MistralDriversConfig MoonshotDriversConfig OllamaDriversConfig OpenAiChatDriversConfig "
        "OpenAiDriversConfig OpenRouterDriversConfig ReplayDriversConfig Status XAiDriversConfig "
        "drivers_config key_variables"
    ),
    "llmneutral.convert.job": "Target",
    "llmneutral.convert.provider_transport": "ProviderTransport",
    "llmneutral.convert.report": "Change Ref",
    "llmneutral.convert.settings": "SETTINGS",
    "llmneutral.convert.steps": "step_summary",
    "llmneutral.convert.transport": "Conversion Transport",
    "llmneutral.drivers.anthropic": "AnthropicPromptDriver",
    "llmneutral.drivers.base": "BasePromptDriver",
    "llmneutral.drivers.bedrock": "BedrockPromptDriver",
    "llmneutral.drivers.codex": "CodexAppServerPromptDriver",
    "llmneutral.drivers.cohere": "CoherePromptDriver",
    "llmneutral.drivers.counting": "TokenCount",
    "llmneutral.drivers.dummy": "DummyPromptDriver",
    "llmneutral.drivers.fallback": "FallbackDriver",
    "llmneutral.drivers.google": "GooglePromptDriver",
    "llmneutral.drivers.keys": "given_keys",
    "llmneutral.drivers.local": "LocalPromptDriver",
    "llmneutral.drivers.making": "make_driver",
    "llmneutral.drivers.mistral": "MistralPromptDriver",
    "llmneutral.drivers.openai": (
        "AzureOpenAiPromptDriver OpenAiChatPromptDriver OpenAiResponsesPromptDriver OwnServerPromptDriver"
    ),
    "llmneutral.drivers.recordings": "Recording load_recordings save_recording",
    "llmneutral.drivers.replay": "ReplayPromptDriver",
    "llmneutral.drivers.streams": "AsyncPromptStream PromptStream",
    "llmneutral.errors": (
        "AuthenticationError BillingError ConfigurationError ConflictError ContentFilterError "
        "ContextLengthError ConversionError InvalidRequestError LLMNeutralError MalformedResponseError "
        "MissingExtraError NotFoundError OverloadedError PermissionDeniedError ProviderConnectionError "
        "ProviderError ProviderTimeoutError RateLimitError RequestTooLargeError ServerError "
        "StreamInterruptedError StructuredOutputError ToolLoopError error_from_response scrub"
    ),
    "llmneutral.events": (
        "ActionChunkEvent ApprovalAnsweredEvent ApprovalRequestedEvent AudioChunkEvent BaseEvent "
        "ConversionChangedEvent ErrorOccurredEvent EventBus FinishActionEvent FinishPromptEvent FinishRunEvent "
        "FirstDeltaEvent InterruptedEvent ListenerFailedEvent ParsedPartialEvent RepairTurnEvent RetryScheduledEvent "
        "StartActionEvent StartPromptEvent StartRunEvent TextChunkEvent ThinkingChunkEvent"
    ),
    "llmneutral.frames": "FrameInterrupt run_frame usage_frame",
    "llmneutral.ir.artifacts": (
        "ActionArtifact AudioArtifact BaseArtifact BlobArtifact DocumentArtifact ErrorArtifact "
        "GenericArtifact ImageArtifact ImageUrlArtifact InfoArtifact JsonArtifact ListArtifact TextArtifact"
    ),
    "llmneutral.ir.contents": (
        "ActionCallMessageContent ActionResultMessageContent AudioMessageContent BaseMessageContent "
        "DocumentMessageContent GenericMessageContent ImageMessageContent InvalidActionCallMessageContent "
        "Origin RefusalMessageContent TextMessageContent ThinkingMessageContent"
    ),
    "llmneutral.ir.deltas": (
        "ActionCallDeltaMessageContent AudioDeltaMessageContent BaseDeltaMessageContent DeltaMessage "
        "DoneDeltaMessageContent GenericDeltaMessageContent ImageDeltaMessageContent "
        "RefusalDeltaMessageContent TextDeltaMessageContent ThinkingDeltaMessageContent"
    ),
    "llmneutral.ir.messages": "Message",
    "llmneutral.ir.reduction": "contents_of",
    "llmneutral.ir.responses": "ErrorInfo FailedAttempt NormalizedResponse RejectedAnswer ResponseMetadata Usage",
    "llmneutral.ir.stack": "PromptStack",
    "llmneutral.ir.tools": "Tool ToolAction ToolDefinition activity",
    "llmneutral.pipeline": "aggregate convert normalize normalize_stream read_request",
    "llmneutral.prices": "Cost cost_of",
    "llmneutral.profiles": "Profile profile register_profile",
    "llmneutral.resolve": "API_MODES ApiModeDecision resolve_api_mode",
    "llmneutral.transports": "get_transport register_transport",
    "llmneutral.validation": "Problem Validator validate validator",
    "llmneutral.validation.lint": "lint",
}
"""Where each name of the face stands: module → names."""
_WHERE = {name: module for module, names in _PLACES.items() for name in names.split()}

logging.getLogger("llmneutral").addHandler(logging.NullHandler())

# Importing the folder `convert` binds its name here, once; from then on the name is the function's.
import_module("llmneutral.convert")
globals().pop("convert", None)  # on a reload it is not bound again


def __getattr__(name: str) -> Any:
    if (place := _WHERE.get(name)) is not None:
        value = globals()[name] = getattr(import_module(place), name)
        return value
    if name == "widgets":
        return import_module("llmneutral.widgets")
    raise AttributeError(f"module 'llmneutral' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "load_ipython_extension", "unload_ipython_extension", "widgets"]


def load_ipython_extension(ipython: Any) -> None:
    """Loads the magics: `%load_ext llmneutral`."""
    import_module("llmneutral_widgets").load_ipython_extension(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Unloads the magics."""
    import_module("llmneutral_widgets").unload_ipython_extension(ipython)
