"""How a magic's line is read and completed, whatever stands in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmneutral_widgets.lines.options import (
    OptionError,
    a_kind,
    all_words,
    expression_start,
    setting,
    split,
    typed_words,
)
from llmneutral_widgets.lines.prompt_line import (
    EFFORTS,
    GRAMMARS,
    PAYLOAD,
    PROMPT,
    STACK,
    USAGE,
    PromptLine,
    late_options,
    parse_prompt,
)

SETTINGS = ["temperature", "max_tokens", "seed", "tool_choice", "extra_body", "reasoning_effort", "fetch", "stream"]
VALUED = {name for option in PROMPT.options if option.metavar for name in option.names}


def parsed(line: str) -> PromptLine:
    return parse_prompt(line, SETTINGS)


# ----------------------------------------------------------------------------------------------------------------------
# Splitting


@pytest.mark.parametrize(
    ("line", "words", "text"),
    [
        ("", [], ""),
        ("hello", [], "hello"),
        ('-s "Be brief" don\'t stop', ["-s", "Be brief"], "don't stop"),
        ("-s 'a \"b\" c' x", ["-s", 'a "b" c'], "x"),
        ("--raw -- -5 degrees", ["--raw"], "-5 degrees"),
        ("-p openai what is 'this", ["-p", "openai"], "what is 'this"),
        ("--set 'a={\"k\": 1}' x", ["--set", 'a={"k": 1}'], "x"),
        (r"-a C:\new\table.png x", ["-a", r"C:\new\table.png"], "x"),
        ("-p {{ drivers['a b'] }} x", ["-p", "{{ drivers['a b'] }}"], "x"),
        ('-a {{d["k"]}} x', ["-a", '{{d["k"]}}'], "x"),
        ('-s "" x', ["-s", ""], "x"),
        ("-s a'b c'd x", ["-s", "ab cd"], "x"),
        ('--set extra_body=\'{"a": {"b": 1}}\' x', ["--set", 'extra_body={"a": {"b": 1}}'], "x"),
        ("   -q   x  ", ["-q"], "x"),
        ("--temperature -1 x", ["--temperature", "-1"], "x"),
        ("text -p openai", [], "text -p openai"),
        ("-s", ["-s"], ""),
        ("{a: {b}} $x %y", [], "{a: {b}} $x %y"),
    ],
)
def test_split(line: str, words: list[str], text: str) -> None:
    assert split(line, VALUED) == (words, text)


@pytest.mark.parametrize("line", ['-s "Be brief', "-s 'a", '-p a"b', "-s don't x"])
def test_an_open_quote_among_the_options_is_named(line: str) -> None:
    with pytest.raises(OptionError, match=r"the quote after \S+ is not closed"):
        split(line, VALUED)


@given(st.text(max_size=60))
def test_a_text_stands_as_it_is(text: str) -> None:
    assert split(f"--raw -- {text}", VALUED) == (["--raw"], text.strip())


@given(st.text(st.characters(exclude_characters="\"'\n{", exclude_categories=["Cs"]), max_size=20))
def test_a_quoted_value_is_what_is_between_the_quotes(value: str) -> None:
    assert split(f'-s "{value}" x', VALUED) == (["-s", value], "x")
    assert split(f"-s '{value}' x", VALUED) == (["-s", value], "x")


@given(st.text(alphabet="-ps\"'{} =\\x", max_size=40))
def test_any_line_is_read_or_refused_in_one_line(line: str) -> None:
    try:
        parsed(line)
    except OptionError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both ways out are fine, this one has a form


def test_words_anywhere() -> None:
    assert all_words("anthropic gemini --json -o 'x y'") == ["anthropic", "gemini", "--json", "-o", "x y"]
    with pytest.raises(OptionError, match="not closed"):
        all_words("save 'a b")


# ----------------------------------------------------------------------------------------------------------------------
# Reading


def test_everything_at_once() -> None:
    line = (
        "-p openai/gpt-6-luna -p {{mine}} -s 'Be brief' -a a.png -a https://x.example/b.pdf -t f -t g --run-tools"
        " --schema City --structured tool --tool-style react --temperature 0.2 --max-tokens 100 --effort low"
        " --set seed=7 --set tool_choice=required --set extra_body='{\"a\": [1]}' --no-stream -c other --new -o answer"
        " -f json --raw --quiet What is it?"
    )
    assert parsed(line) == PromptLine(
        providers=("openai/gpt-6-luna", "{{mine}}"),
        system="Be brief",
        attachments=("a.png", "https://x.example/b.pdf"),
        tools=("f", "g"),
        run_tools=True,
        schema="City",
        settings={
            "temperature": 0.2,
            "max_tokens": 100,
            "reasoning_effort": "low",
            "structured_output_strategy": "tool",
            "use_native_tools": False,
            "seed": 7,
            "tool_choice": "required",
            "extra_body": {"a": [1]},
        },
        stream=False,
        stack="other",
        new=True,
        out="answer",
        format="json",
        raw=True,
        quiet=True,
        text="What is it?",
    )


def test_nothing_is_mandatory() -> None:
    assert parsed("") == PromptLine()


def test_a_value_may_follow_an_equals_sign() -> None:
    assert parsed("--temperature=0.5 x").settings == {"temperature": 0.5}
    assert parsed("--set=seed=7 x").settings == {"seed": 7}
    assert parsed("--system='a b' x").system == "a b"


def test_apis_to_compare() -> None:
    assert parsed("--compare all x").compare == ("all",)
    assert parsed("--compare 'a, b'").compare == ("a", "b")
    assert parsed("--compare a,b").compare == ("a", "b")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a=1", 1),
        ("a=1.5", 1.5),
        ("a=true", True),
        ("a=null", None),
        ('a={"b": "c"}', {"b": "c"}),
        ("a=required", "required"),
        ("a=", ""),
        ("a=b=c", "b=c"),
        ("a=NaN", "NaN"),
        ("a=Infinity", "Infinity"),
    ],
)
def test_a_setting_is_json_or_text(written: str, value: Any) -> None:
    assert setting(written) == ("a", value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--temprature 1", r"no option --temprature; did you mean --temperature\?$"),
        ("-5 degrees", "put -- before a text that begins with a dash"),
        ("-s", "-s needs a value: -s TEXT"),
        ("--temperature warm", "--temperature needs a number, not warm"),
        ("--temperature nan", "--temperature needs a finite number"),
        ("--max-tokens 0", "--max-tokens needs a whole number from 1, not 0"),
        ("--max-tokens 1.5", "--max-tokens needs a whole number"),
        ("--history -1", "--history needs a whole number from 0"),
        ("--structured json", "--structured is one of native, tool, rule, auto; not json"),
        ("--effort huge", "--effort is one of none, minimal"),
        ("--set sed=1", r"no setting sed; did you mean seed\?"),
        ("--set fetch=1", "no setting fetch"),
        ("--set seed", "--set needs KEY=VALUE, not seed"),
        ("--set api_key=sk-1", "use %provider key NAME"),
        ("--temperature 1 --set temperature=2", "temperature is given twice"),
        ("--temperature 1 --temperature 2", "--temperature is given twice"),
        ("--stream --no-stream", "--stream and --no-stream contradict each other"),
        ("--dry-run --run-tools", "contradict each other: nothing is sent"),
        ("--compare all --run-tools", "contradict each other"),
        ("--new --history 1", "contradict each other"),
        ("-p a -p b -m c", "with several write -p NAME/MODEL"),
        ("-o 1x", "-o needs the name of a variable, not 1x"),
        ("-o _x", "-o needs the name of a variable"),
        ("--raw=yes", "--raw takes no value"),
        ("--compare ,", "--compare needs at least one name"),
        ("--temp 1", r"no option --temp; did you mean --temperature\?$"),
        ("--max 1", r"did you mean --max-tokens\?$"),
        ("--set stream=off", "--set stream=off cannot be meant: it is true or false; --no-stream says the same"),
        ("-o class", "-o needs the name of a variable, not class"),
    ],
)
def test_mistakes_are_named_with_their_remedy(line: str, message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        parsed(line)
    assert "\n" not in str(caught.value)


def test_the_same_value_twice_is_no_contradiction() -> None:
    assert parsed("--temperature 1 --set temperature=1 x").settings == {"temperature": 1}


def test_no_error_repeats_a_key() -> None:
    with pytest.raises(OptionError) as caught:
        parsed("--set api_key=sk-secret")
    assert "sk-secret" not in str(caught.value)


def test_the_settings_are_those_of_the_library() -> None:
    import llmneutral

    assert parse_prompt("--set top_p=0.5 x").settings == {"top_p": 0.5}
    fields = {"temperature", "max_tokens", "reasoning_effort", "structured_output_strategy", "use_native_tools"}
    assert fields <= set(llmneutral.SETTINGS)
    check = llmneutral.SETTINGS["reasoning_effort"].check
    assert [check("reasoning_effort", level) for level in EFFORTS] == list(EFFORTS)


# ----------------------------------------------------------------------------------------------------------------------
# The other magics, help, completion


def test_options_among_words() -> None:
    found = PAYLOAD.parse("anthropic --json gemini -o x")
    assert (found.words, dict(found.values)) == (("anthropic", "gemini"), {"json": True, "out": "x"})
    assert STACK.parse("save 'my file.ipynb'").words == ("save", "my file.ipynb")
    with pytest.raises(OptionError, match="--by is one of provider, model, stack, day"):
        USAGE.parse("--by hour")


def test_help_tells_every_option() -> None:
    for magic, grammar in GRAMMARS.items():
        text = grammar.help()
        assert magic in text
        for option in grammar.options:
            assert all(name in text for name in option.names)
            assert option.help in text
        assert max(map(len, text.splitlines())) <= 120


def test_names_of_options_are_unique() -> None:
    for grammar in GRAMMARS.values():
        names = [name for option in grammar.options for name in option.names]
        assert len(names) == len(set(names))


def test_every_field_of_a_line_has_an_option() -> None:
    fields = {option.field for option in PROMPT.options} - {"temperature", "max_tokens", "reasoning_effort"}
    assert fields - {"structured", "tool_style"} == set(PromptLine.__struct_fields__) - {"text", "options"}


SOURCES = {
    "providers": lambda start: ["openai", "openai-chat", "anthropic"],
    "apis": lambda start: ["chat_completions", "codex_responses"],
    "settings": lambda start: ["seed", "stop"],
    "files": lambda start: [f"{start}1.png"],
}


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("--te", ["--temperature"]),
        ("-p open", ["openai", "openai-chat"]),
        ("-p ", ["anthropic", "openai", "openai-chat"]),
        ("-p openai -s x --comp", ["--compare"]),
        ("--compare chat_completions,co", ["chat_completions,codex_responses"]),
        ("--set se", ["seed="]),
        ("--effort m", ["minimal", "medium", "max"]),
        ("-a pic", ["pic1.png"]),
        ("-t f", []),
        ("a question ", []),
        ("--raw ", sorted(option.names[-1] for option in PROMPT.options)),
    ],
)
def test_completion(before: str, found: list[str]) -> None:
    assert list(PROMPT.complete(before, SOURCES).words) == found


def test_completion_of_options_and_commands() -> None:
    assert set(PROMPT.complete("-", {}).words) == {name for option in PROMPT.options for name in option.names}
    assert STACK.complete("s", {}).words == ["save"]
    assert STACK.complete("save x", {}).words == []
    assert STACK.complete("load x ", {"files": lambda start: ["y"]}).words == ["--all", "--help", "--out"]


@pytest.mark.parametrize(
    ("before", "typed", "words"),
    [
        ("", "", []),
        ("a ", "", ["a"]),
        ("-p 'a b", "'a b", ["-p"]),
        ('-s "a b" c', "c", ["-s", "a b"]),
        ("a'b c", "a'b c", []),
        ("{{a b}} c", "c", ["{{a b}}"]),
        ("{{a", "{{a", []),
    ],
)
def test_the_word_that_is_being_typed(before: str, typed: str, words: list[str]) -> None:
    assert typed_words(before) == (words, typed)


@given(st.text())
def test_every_line_can_be_completed(before: str) -> None:
    for grammar in (PROMPT, STACK):
        offer = grammar.complete(before, SOURCES)
        assert before.endswith(offer.typed)


@pytest.mark.parametrize(
    ("before", "start"),
    [("what is {{na", "na"), ("a\n{{ ", ""), ("{{a}} and {{b", "b"), ("{{a}}", None), ("no {name", None)],
)
def test_completion_inside_braces(before: str, start: str | None) -> None:
    assert expression_start(before) == start


@pytest.mark.parametrize(
    ("text", "late"),
    [
        ("Say that again. --history 0", "--history 0"),
        ("Hi --stack=a --quiet", "--stack=a --quiet"),
        ("What does --history do?", ""),
        ("Why --history", ""),
        ("--history 0", ""),
        ("git log --oneline", ""),
        ("a -o b", ""),
        ("", ""),
    ],
)
def test_options_behind_a_question_are_noticed(text: str, late: str) -> None:
    assert late_options(text) == late


@pytest.mark.parametrize(("value", "said"), [(5, "an int"), ("", "a str"), (ValueError(), "a ValueError")])
def test_kinds_have_their_article(value: Any, said: str) -> None:
    assert a_kind(value) == said


def test_a_number_is_no_option_among_words() -> None:
    assert STACK.parse("-3: --all").words == ("-3:",)
