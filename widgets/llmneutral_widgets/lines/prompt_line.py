"""The lines of the six magics: their options in tables, and what a `%%prompt` line says.

What must live here: data. How a line is split and read stands in `options`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from llmneutral_widgets.lines.options import (
    Grammar,
    Option,
    OptionError,
    identifier,
    names,
    nearest,
    number,
    setting,
    whole,
)

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
SUBJECTS = ("provider", "model", "stack", "day")
_SAME = {"temperature": "--temperature", "max_tokens": "--max-tokens", "reasoning_effort": "--effort"}
_SAME |= {"structured_output_strategy": "--structured", "use_native_tools": "--tool-style", "stream": "--stream"}
NOT_ON_A_LINE = frozenset({"fetch"})
"""Settings that no text can give."""
CALL_OPTIONS = ("max_attempts", "retry_deadline", "timeout", "max_repairs", "keep_repairs")
"""Options of a call that `--set` takes like settings: they say how it is asked, and never reach a payload."""


VALUES: Mapping[str, tuple[str, ...]] = {
    "tool_choice": ("auto", "none", "required"),
    "reasoning_effort": EFFORTS,
    "reasoning_summary": ("auto", "concise", "detailed", "none"),
    "thinking_display": ("summarized", "omitted"),
    "verbosity": ("low", "medium", "high"),
    "structured_output_strategy": ("auto", "native", "tool", "rule"),
    "cache": ("auto", "none"),
    "orphan_calls": ("answer", "strip", "refuse"),
    "orphan_results": ("text", "strip", "refuse"),
    "late_system": ("in_place", "hoist"),
    "foreign_reasoning": ("drop", "text"),
    "duplicate_tools": ("refuse", "first"),
    "unsupported_media": ("refuse", "text"),
    "on_conflict": ("coerce", "refuse"),
    "keep_repairs": ("true", "false"),
}
"""The words that a setting takes, where it is a few; what is only yes or no says so itself."""


class PromptLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a `%%prompt` line says; what was not given is None, empty or False.

    Attributes:
        providers: Who is asked: NAME, NAME/MODEL, `replay:FILE` or `{{variable}}`.
        model: Another model of the same driver.
        system: The conversation's system text.
        attachments: Files, addresses or `{{variables}}`.
        tools: Names of functions or tools in the user's namespace.
        run_tools: Whether calls are run.
        schema: Name of a type or JSON Schema in the user's namespace.
        settings: Neutral settings for the call, those of the options of their own among them.
        options: Options of the call (`CALL_OPTIONS`).
        stream: Whether to stream; None is the driver's default.
        stack: Name of the conversation; None is the current one.
        new: Whether the conversation is emptied first.
        history: How many earlier exchanges are sent; None is all.
        dry_run: Whether nothing is sent.
        compare: API modes to convert for; `("all",)` is every one.
        out: Variable that the result is bound to.
        format: How the answer is shown: html, text, json or code.
        raw: Whether `{{…}}` stands for itself.
        quiet: Whether one line is shown instead of the answer.
        help: Whether only the help text is wanted.
        text: The rest of the line.
    """

    providers: tuple[str, ...] = ()
    model: str | None = None
    system: str | None = None
    attachments: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    run_tools: bool = False
    schema: str | None = None
    settings: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    stream: bool | None = None
    stack: str | None = None
    new: bool = False
    history: int | None = None
    dry_run: bool = False
    compare: tuple[str, ...] = ()
    out: str | None = None
    format: str = "html"
    raw: bool = False
    quiet: bool = False
    help: bool = False
    text: str = ""


def parse_prompt(line: str, known_settings: Collection[str] | None = None) -> PromptLine:
    """Reads the line of `%%prompt` or `%prompt`.

    Args:
        line: What stands behind the magic's name.
        known_settings: The neutral settings there are; the library's by default.

    Raises:
        OptionError: On anything that cannot be meant.
    """
    found = PROMPT.parse(line)
    values = dict(found.values)
    settings: dict[str, Any] = {}
    for key in ("temperature", "max_tokens", "reasoning_effort"):
        if key in values:
            settings[key] = values.pop(key)
    if "structured" in values:
        settings["structured_output_strategy"] = values.pop("structured")
    if "tool_style" in values:
        settings["use_native_tools"] = values.pop("tool_style") == "native"
    for key, value in values.pop("settings", ()):
        _add_setting(settings, key, value, known_settings)
    if len(values.get("providers", ())) > 1 and "model" in values:
        raise OptionError("-m/--model belongs to one provider; with several write -p NAME/MODEL")
    for key in ("providers", "attachments", "tools"):
        values[key] = tuple(values.get(key, ()))
    options = {key: settings.pop(key) for key in CALL_OPTIONS if key in settings}
    return PromptLine(**values, settings=settings, options=options, text=found.text)


def _add_setting(settings: dict[str, Any], key: str, value: Any, known_settings: Collection[str] | None) -> None:
    known = [*(_library_settings() if known_settings is None else known_settings), *CALL_OPTIONS]
    if key not in known or key in NOT_ON_A_LINE:
        raise OptionError(f"--set knows no setting {key}; {nearest(key, [k for k in known if k not in NOT_ON_A_LINE])}")
    if key == "stream" and not isinstance(value, bool):
        raise OptionError(f"--set stream={value} cannot be meant: it is true or false; --no-stream says the same")
    if key in settings and settings[key] != value:
        raise OptionError(f"{key} is given twice: {_SAME.get(key, '--set')} says {settings[key]}, --set says {value}")
    settings[key] = value


def _library_settings() -> Collection[str]:
    import llmneutral

    found: Collection[str] = llmneutral.SETTINGS
    return found


def late_options(text: str) -> str:
    """Returns the options at the end of a question, as they are written: there they are text; "" if there are none."""
    words = text.split()
    known = {name for option in PROMPT.options for name in option.names if len(name) > 2}
    at = next((at for at, word in enumerate(words) if at and word.partition("=")[0] in known), len(words))
    try:
        found = PROMPT.parse(" ".join(words[at:]))
    except OptionError:
        return ""
    return "" if found.text else " ".join(words[at:])


O = Option  # noqa: E741 - a table reads better with a short name
PROMPT = Grammar(
    magic="%%prompt",
    about="Asks a model, and shows and keeps the answer.",
    usage=(
        "%%prompt [options]  and the question below, or  %prompt [options] question",
        "%%prompt -p anthropic -p openai   two answers side by side",
        "%%prompt --compare all            the payloads of every API; sends nothing",
        "{{name}} in the question is replaced by the variable; a text that begins with a dash goes behind --",
    ),
    has_text=True,
    options=(
        O(
            names=("-p", "--provider"),
            field="providers",
            metavar="NAME[/MODEL]",
            repeats=True,
            source="providers",
            help="who is asked: a config by name, replay:FILE or {{variable}}; repeat it to ask several",
        ),
        O(
            names=("-m", "--model"),
            field="model",
            metavar="ID",
            source="models",
            help="another model of the same driver",
        ),
        O(names=("-s", "--system"), field="system", metavar="TEXT", help="the conversation's system text"),
        O(
            names=("-a", "--attach"),
            field="attachments",
            metavar="WHAT",
            repeats=True,
            source="files",
            help="a file, an https address or {{variable}}; repeatable",
        ),
        O(
            names=("-t", "--tool"),
            field="tools",
            metavar="NAME",
            repeats=True,
            source="callables",
            help="a function, a Tool, or a list of them; repeatable",
        ),
        O(names=("--run-tools",), field="run_tools", help="run the calls and go on, at most five rounds"),
        O(
            names=("--schema",),
            field="schema",
            metavar="NAME",
            source="classes",
            help="pydantic model, dataclass, TypedDict or JSON Schema of the answer",
        ),
        O(
            names=("--structured",),
            field="structured",
            metavar="HOW",
            choices=("native", "tool", "rule", "auto"),
            help="how a schema is asked for",
        ),
        O(
            names=("--tool-style",),
            field="tool_style",
            metavar="HOW",
            choices=("native", "react"),
            help="tools of the API, or as text",
        ),
        O(names=("--temperature",), field="temperature", metavar="N", read=number, help="randomness of sampling"),
        O(names=("--max-tokens",), field="max_tokens", metavar="N", read=whole(1), help="most tokens of the answer"),
        O(names=("--effort",), field="reasoning_effort", metavar="LEVEL", choices=EFFORTS, help="how much to think"),
        O(
            names=("--set",),
            field="settings",
            metavar="KEY=VALUE",
            read=setting,
            repeats=True,
            source="settings",
            help="any neutral setting, as JSON or text; repeatable",
        ),
        O(names=("--stream",), field="stream", help="show the answer while it comes"),
        O(names=("--no-stream",), field="stream", sets=False, help="show it when it is whole"),
        O(names=("-c", "--stack"), field="stack", metavar="NAME", source="stacks", help="which conversation"),
        O(names=("--new",), field="new", help="empty the conversation first"),
        O(
            names=("--history",),
            field="history",
            metavar="N",
            read=whole(0),
            help="send only the last N exchanges; 0 is none",
        ),
        O(names=("--dry-run",), field="dry_run", help="convert and show, send nothing"),
        O(
            names=("--compare",),
            field="compare",
            metavar="API,API…",
            read=names,
            source="apis",
            help="payloads of APIs (openai is chat_completions), or of all, side by side; sends nothing",
        ),
        O(names=("-o", "--out"), field="out", metavar="NAME", read=identifier, help="variable for the result"),
        O(
            names=("-f", "--format"),
            field="format",
            metavar="FORM",
            choices=("html", "text", "json", "code"),
            help="how the answer is shown",
        ),
        O(names=("--raw",), field="raw", help="leave {{…}} as it is typed"),
        O(names=("--quiet",), field="quiet", help="one line instead of the answer"),
        O(names=("-h", "--help"), field="help", help="this text"),
    ),
    conflicts=(
        ("dry_run", "run_tools", "nothing is sent, so nothing is called"),
        ("compare", "run_tools", "nothing is sent, so nothing is called"),
        ("compare", "format", "payloads are shown, not an answer"),
        ("dry_run", "format", "payloads are shown, not an answer"),
        ("new", "history", "a new conversation has no history"),
    ),
)
PROVIDER = Grammar(
    magic="%provider",
    about="Shows and sets who answers.",
    usage=(
        "%provider                    the picker, or a table in terminals",
        "%provider NAME[/MODEL]       set the base",
        "%provider list               every config, and whether its key is set",
        "%provider key NAME           ask for a key; it is kept in this process only, and wins over the environment's",
        "%provider key NAME --forget  the environment's again",
        "%provider key --env [FILE]   take keys of providers, and nothing else, from a file (.env); kept as typed ones",
        "%provider preset NAME PROVIDER/MODEL key=value …",
    ),
    options=(
        O(names=("--env",), field="env", source="env_files", help="with key: from a file, .env unless it is named"),
        O(names=("--forget",), field="forget", help="with key NAME: forget the one that was typed"),
        O(names=("-h", "--help"), field="help", help="this text"),
    ),
    commands=("list", "key", "preset"),
    conflicts=(("env", "forget", "it takes keys"),),
    sources={"": ("providers",), "key": ("keyed",), "preset": ("", "providers")},
)
STACK = Grammar(
    magic="%stack",
    about="Shows and keeps conversations.",
    usage=(
        "%stack [NAME] [A:B | --all]  show",
        "%stack list | use NAME | reset [NAME] | drop N",
        "%stack save FILE (.ipynb, .json, or .md to read) | load FILE (.ipynb, .json)",
        "%stack {{s}} | load {{s}} | use {{s}}   a PromptStack of yours: show, take it, take it as the conversation s",
    ),
    options=(
        O(names=("--all",), field="all", help="every message"),
        O(
            names=("-o", "--out"),
            field="out",
            metavar="NAME",
            read=identifier,
            help="variable for it, as a PromptStack",
        ),
        O(names=("-h", "--help"), field="help", help="this text"),
    ),
    commands=("list", "use", "reset", "drop", "save", "load"),
    sources={"": ("stacks",), "use": ("stacks",), "reset": ("stacks",), "save": ("savable",), "load": ("loadable",)},
)
PAYLOAD = Grammar(
    magic="%payload",
    about="Shows what is sent.",
    usage=(
        "%payload            the last request as it was sent, or each one where calls were run",
        "%payload API … | all   the current conversation, converted for them",
        "%payload API … {{s}}   the same for a PromptStack of yours; a Conversion is shown as it is",
        "%payload chat responses -m gpt-6-luna   one model in every column: what differs now is the API's",
        "openai is here, and in --compare, the API chat_completions; the provider openai is asked by codex_responses",
    ),
    options=(
        O(
            names=("-m", "--model"),
            field="models",
            metavar="[API=]ID",
            repeats=True,
            source="models",
            help="another model in every column, or in that of an API; repeatable",
        ),
        O(names=("--round",), field="round", metavar="N", read=whole(1), help="only the Nth request of the question"),
        O(names=("--changes",), field="changes", help="only what was changed"),
        O(names=("--json",), field="json", help="only the JSON"),
        O(names=("-o", "--out"), field="out", metavar="NAME", read=identifier, help="variable for the result"),
        O(names=("-h", "--help"), field="help", help="this text"),
    ),
    conflicts=(("round", "models", "what was sent has its model"),),
    sources={"": ("apis",)},
)
DELTAS = Grammar(
    magic="%deltas",
    about="Shows a stream as it came.",
    usage=(
        "%deltas [CELL]    the last exchange, or that of a cell",
        "%deltas save FILE    a recording: -p replay:FILE plays it, from its beginning each time",
    ),
    options=(
        O(
            names=("-p", "--provider"),
            field="provider",
            metavar="NAME",
            source="providers",
            help="whose answer, where several were asked",
        ),
        O(names=("--round",), field="round", metavar="N", read=whole(1), help="only the Nth answer to the question"),
        O(names=("-h", "--help"), field="help", help="this text"),
    ),
    commands=("save",),
    sources={"save": ("files",)},
)
USAGE = Grammar(
    magic="%usage",
    about="Shows tokens, time and cost of this session.",
    usage=("%usage [--by provider|model|stack|day]",),
    options=(
        O(names=("--by",), field="by", metavar="WHAT", choices=SUBJECTS, help="sums"),
        O(
            names=("--prices",),
            field="prices",
            metavar="FILE",
            source="files",
            help='your own, in dollars per million tokens, as {"gpt-4.1": {"input": 2, "output": 8}} in a .json file',
        ),
        O(names=("--reset",), field="reset", help="begin again"),
        O(names=("-h", "--help"), field="help", help="this text"),
    ),
)
GRAMMARS = {grammar.magic: grammar for grammar in (PROMPT, PROVIDER, STACK, PAYLOAD, DELTAS, USAGE)}
