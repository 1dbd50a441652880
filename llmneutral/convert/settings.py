"""The neutral settings: their names, what they may be, and which of them are policies.

One table. A setting that is not in it is an error that names the nearest ones; a value of the wrong
kind is an error before anything else happens. Numbers out of a provider's range are not errors: the
transport clamps them and says so.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NoReturn

import msgspec

from llmneutral.errors import ConfigurationError, SettingError
from llmneutral.ir.jsontext import JSONObject, dumps

LONGEST_SHOWN = 60
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
Check = Callable[[str, Any], Any]


class Setting(msgspec.Struct, frozen=True):
    """One neutral setting.

    Attributes:
        check: Returns the value in its canonical form, or raises.
        meaning: One line for help texts.
        default: What counts where nothing is given.
        policy: Whether it steers the conversion and is never a key of a payload.
    """

    check: Check
    meaning: str
    default: Any = None
    policy: bool = False


class ToolChoice(msgspec.Struct, frozen=True):
    """Which tool the model may, must or must not call.

    Attributes:
        mode: auto, none, required, named (exactly `names[0]`), or allowed (only among `names`).
        names: Tool names as the caller knows them.
        force: For `allowed`: whether one of them must be called.
    """

    mode: Literal["auto", "none", "required", "named", "allowed"]
    names: tuple[str, ...] = ()
    force: bool = False


def shown(value: Any) -> str:
    """Returns the beginning of a value's repr, for messages: a number or an object may be as long as it likes."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _refuse(name: str, value: Any, wanted: str) -> NoReturn:
    raise SettingError(f"the setting {name} is {shown(value)}; it has to be {wanted}", rule=f"setting:{name}")


def number(name: str, value: Any) -> float | int:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(name, value, "a finite number")
    if isinstance(value, float) and not math.isfinite(value):
        _refuse(name, value, "a finite number")
    return value


def whole(name: str, value: Any) -> int:
    """A whole number; 8.0 is 8."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(name, value, "a whole number")
    return int(value)


def positive(name: str, value: Any) -> int:
    """A whole number above 0."""
    if (number := whole(name, value)) <= 0:
        _refuse(name, value, "a whole number above 0")
    return number


def counted(name: str, value: Any) -> int:
    """A whole number from 0."""
    if (number := whole(name, value)) < 0:
        _refuse(name, value, "a whole number from 0")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        _refuse(name, value, "True or False")
    return value


def text(name: str, value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        _refuse(name, value, "text")
    return value


def mapping(name: str, value: Any) -> JSONObject:
    """An object."""
    if not isinstance(value, Mapping):
        _refuse(name, value, "an object")
    found: JSONObject = anything(name, dict(value))
    return found


def anything(name: str, value: Any) -> Any:
    """Whatever the provider takes, if JSON can write it."""
    try:
        dumps(value)
    except (TypeError, ValueError) as error:
        _refuse(name, value, f"plain data that JSON can write ({error})")
    return value


def sequences(name: str, value: Any) -> list[str] | None:
    """Stop sequences: one text is a list of one, and an empty list is none."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, Iterable):
        _refuse(name, value, "text or a list of texts")
    found = list(value)
    if any(not isinstance(entry, str) for entry in found):
        _refuse(name, value, "text or a list of texts")
    return found or None


def one_of(*words: Any) -> Check:
    """One of a few words."""

    def check(name: str, value: Any) -> Any:
        if value not in words:
            _refuse(name, value, f"one of {', '.join(map(repr, words))}")
        return value

    return check


def exactly_one(name: str, value: Any) -> int:
    """1: several answers to one call are not supported."""
    if isinstance(value, bool) or value != 1:
        _refuse(name, value, "1: ask again for another answer")
    return 1


def tool_choice(name: str, value: Any) -> ToolChoice:
    """A word, OpenAI's form for one tool or some tools, or the name of one tool."""
    if isinstance(value, ToolChoice):
        return value
    if value in ("auto", "none", "required"):
        return ToolChoice(value)
    if value == "any":
        return ToolChoice("required")
    if isinstance(value, str) and value:
        return ToolChoice("named", (value,))
    if isinstance(value, Mapping):
        found = _choice_of(value)
        if found is not None:
            return found
    _refuse(name, value, "'auto', 'none', 'required', or {'type': 'function', 'function': {'name': …}}")


def _choice_of(value: Mapping[str, Any]) -> ToolChoice | None:
    if value.get("type") == "allowed_tools":
        given = value.get("allowed_tools", value)
        names = tuple([_tool_name(tool) or "" for tool in given.get("tools", ())])
        return ToolChoice("allowed", names, given.get("mode") == "required") if names and all(names) else None
    single = _tool_name(value)
    return None if single is None else ToolChoice("named", (single,))


def _tool_name(value: Mapping[str, Any]) -> str | None:
    given = value.get("function") or value.get("custom") or value
    name = given.get("name") if isinstance(given, Mapping) else None
    return name if isinstance(name, str) and name else None


def fetcher(name: str, value: Any) -> Any:
    """A callable url -> (bytes, media type), or a map of such."""
    if isinstance(value, Mapping):
        return value.__getitem__
    if not callable(value):
        _refuse(name, value, "a callable url -> (bytes, media type), or a map of such")
    return value


S = Setting
SETTINGS: dict[str, Setting] = {
    "max_tokens": S(positive, "most tokens of the answer"),
    "temperature": S(number, "randomness of sampling"),
    "top_p": S(number, "share of probability to sample from"),
    "top_k": S(counted, "number of tokens to sample from"),
    "stop": S(sequences, "texts that end the answer"),
    "seed": S(whole, "seed of sampling"),
    "presence_penalty": S(number, "penalty on tokens that occurred"),
    "frequency_penalty": S(number, "penalty on tokens by how often they occurred"),
    "logit_bias": S(mapping, "bias per token"),
    "logprobs": S(anything, "report probabilities of tokens"),
    "top_logprobs": S(counted, "how many alternatives to report"),
    "n": S(exactly_one, "number of answers: always 1", policy=True),
    "reasoning_effort": S(one_of(*EFFORTS), "how much to think; none is off"),
    "thinking_budget": S(whole, "most tokens of thinking"),
    "reasoning_summary": S(one_of("auto", "concise", "detailed", "none"), "summary of the reasoning (Responses)"),
    "thinking_display": S(one_of("summarized", "omitted"), "whether thinking is shown (Claude)"),
    "verbosity": S(one_of("low", "medium", "high"), "length of the answer"),
    "tool_choice": S(tool_choice, "auto, none, required, or one tool"),
    "parallel_tool_calls": S(flag, "whether several calls may come in one turn"),
    "response_format": S(mapping, "OpenAI's form of an answer's format"),
    "stream": S(flag, "whether the answer is streamed"),
    "store": S(flag, "whether the provider may keep the answer"),
    "service_tier": S(text, "the provider's service tier"),
    "metadata": S(mapping, "labels of the request"),
    "safety_identifier": S(text, "stable id of the end user"),
    "prompt_cache_key": S(text, "key of the provider's prompt cache"),
    "truncation": S(text, "what a provider does with too long a prompt"),
    "modalities": S(anything, "kinds of output"),
    "audio": S(mapping, "voice and format of spoken answers"),
    "safety_settings": S(anything, "Gemini's safety settings"),
    "safety_mode": S(text, "Cohere's safety mode"),
    "documents": S(anything, "documents of the request (Cohere)"),
    "citation_options": S(mapping, "how citations are made (Cohere)"),
    "cached_content": S(text, "name of an explicit cache (Gemini)"),
    "guardrail_config": S(mapping, "guardrail (Bedrock)"),
    "speed": S(text, "speed tier (Anthropic)"),
    "cache_control": S(mapping, "cache mark of the whole request (Anthropic)"),
    "extra_body": S(mapping, "keys merged into the request last; shown, not checked"),
    # --- policies: they steer the conversion -------------------------------------------------------
    "structured_output_strategy": S(
        one_of("auto", "native", "tool", "rule"), "how a schema is asked for", "auto", policy=True
    ),
    "use_native_tools": S(flag, "tools by the API, or as text (ReAct)", policy=True),
    "cache": S(one_of("auto", None, False, "none"), "automatic cache marks", policy=True),
    "keep_screenshots": S(counted, "how many newest results keep their pictures", policy=True),
    "orphan_calls": S(one_of("answer", "strip", "refuse"), "calls without a result", "answer", policy=True),
    "orphan_results": S(one_of("text", "strip", "refuse"), "results without a call", "text", policy=True),
    "late_system": S(one_of("in_place", "hoist"), "instructions in mid-conversation", "in_place", policy=True),
    "foreign_reasoning": S(one_of("drop", "text"), "reasoning of another model", "drop", policy=True),
    "replay_reasoning": S(flag, "whether own reasoning is sent back", True, policy=True),
    "recover_reasoning": S(flag, "convert once more without reasoning if it is refused", False, policy=True),
    "pad_reasoning": S(flag, "placeholder where a server demands reasoning", True, policy=True),
    "duplicate_tools": S(one_of("refuse", "first"), "different tools of one name", "refuse", policy=True),
    "unsupported_media": S(one_of("refuse", "text"), "media the API does not take", "refuse", policy=True),
    "strict_conversion": S(flag, "refuse instead of changing content", False, policy=True),
    "nudge_required": S(flag, "ask in words where a call cannot be required", False, policy=True),
    "on_conflict": S(one_of("coerce", "refuse"), "settings that exclude each other", "coerce", policy=True),
    "flatten_tools": S(flag, "tool history as text where no tools are given", False, policy=True),
    "fetch": S(fetcher, "asked for a picture where an API takes no address", policy=True),
}


def canonical_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Checks settings and returns those that are set, in canonical form; None is unset.

    Raises:
        ConfigurationError: If a name is unknown, with the nearest known ones.
        SettingError: If a value is of the wrong kind, naming the setting; it is a ConversionError too.
    """
    found = {}
    for name, value in given.items():
        setting = SETTINGS.get(name)
        if setting is None:
            raise unknown_setting(name)
        if value is not None and (checked := setting.check(name, value)) is not None:
            found[name] = checked
    return found


def unknown_setting(name: str) -> ConfigurationError:
    """Returns the error for a setting that does not exist."""
    near = difflib.get_close_matches(name, SETTINGS, 3)
    known = f"near it: {', '.join(near)}" if near else "llmneutral.SETTINGS lists them"
    return ConfigurationError(f"unknown setting {name!r}; {known} (extra_body passes any key through)")
