"""Keys out of a `.env` file: what is read, what is taken of it, and what is said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmneutral
from llmneutral import Defaults
from llmneutral_widgets.env_files import EnvFile, named_here, read, take
from llmneutral_widgets.lines.options import OptionError
from llmneutral_widgets.providers import Providers
from llmneutral_widgets.scrub import current_secrets

KEY, OTHER = "placed-in-a-file-1", "placed-in-a-file-2"


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Providers]:
    for name in (*llmneutral.key_variables(), "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    before = Defaults.drivers_config if Defaults.is_set else None
    Defaults.drivers_config = None
    made = Providers()
    yield made
    made.close()
    Defaults.drivers_config = before


def key_of(providers: Providers, name: str) -> str | None:
    found: str | None = providers.config(name).prompt_driver.api_key.read()
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Reading

VALUES = [
    ("v", "v"),
    ("", ""),
    ("  v w  ", "v w"),
    ("'v # w'", "v # w"),
    ('"v\'w"', "v'w"),
    ("'v'  # said", "v"),
    ("v # said", "v"),
    ("v\t# said", "v"),
    ("v#w", "v#w"),
    ("# said", ""),
    ("a=b==", "a=b=="),
    ("''", ""),
    ('"v', None),
    ("'v' w", None),
]


@pytest.mark.parametrize("before", ["N=", "export N=", "  N = ", "export\tN ="])
@pytest.mark.parametrize(("written", "value"), VALUES)
def test_a_line(before: str, written: str, value: str | None) -> None:
    found = read(f"\n{before}{written}\r\n# N=w\n")
    assert found == (EnvFile({}, {}, (2,)) if value is None else EnvFile({"N": value}, {"N": 2}))


def test_what_is_no_line_is_told_by_its_number_and_the_last_of_a_name_counts() -> None:
    assert read("N=1\nwords\n9N=2\nexport\n=3\nN=4").broken == (2, 3, 4, 5)
    assert read("N=1\nwords\nN=4").values == {"N": "4"}


@given(st.text())
@settings(max_examples=300)
def test_any_text_is_read_and_no_line_is_lost(text: str) -> None:
    found = read(text)
    meant = [line for line in map(str.strip, text.split("\n")) if line and line[0] != "#"]
    assert len(found.broken) + len(found.values) <= len(meant)
    assert bool(found.broken or found.values) == bool(meant)


@given(
    st.dictionaries(st.from_regex(r"[A-Z][A-Z_]{0,8}", fullmatch=True), st.from_regex(r"[\w./+=-]*", fullmatch=True))
)
def test_what_is_written_is_read(values: dict[str, str]) -> None:
    for quote in ("", "'", '"'):
        text = "\n".join([f"export {name}={quote}{value}{quote}  # said" for name, value in values.items()])
        assert read(text).values == values


def test_no_repr_holds_a_key() -> None:
    assert KEY not in repr(read(f"ANTHROPIC_API_KEY={KEY}"))


# ----------------------------------------------------------------------------------------------------------------------
# Taking


def test_keys_are_kept_like_typed_ones(providers: Providers) -> None:
    Path(".env").write_bytes(
        f"\ufeff# keys\r\nexport ANTHROPIC_API_KEY='{KEY}'\r\n\r\nOPENAI_API_KEY={OTHER} # mine\r\n".encode()
    )
    Defaults.drivers_config = providers.config("anthropic")
    providers.keep("fast", providers.config("openai-chat/x"), "openai-chat")
    found = take(providers, ".env")
    assert found.told() == "ANTHROPIC_API_KEY, OPENAI_API_KEY taken from .env, in this process only"
    assert [key_of(providers, name) for name in ("anthropic", "openai", "openai-chat")] == [KEY, OTHER, OTHER]
    assert providers.config("fast").status().key_set, "a preset has the key of whom it asks"
    assert Defaults.base is providers.config("anthropic")
    assert current_secrets({}).text(f"{KEY} {OTHER}") == "••• •••"
    assert not {KEY, OTHER} & {*os.environ.values()}, "programs that are started would have it"
    assert KEY not in repr([found, providers.rows(), Defaults.base])


def test_nothing_but_keys_is_taken(providers: Providers) -> None:
    """A file of a foreign folder must not send requests, and the keys in them, elsewhere."""
    others = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "AZURE_OPENAI_ENDPOINT", "MY_API_KEY", "PATH"]
    Path(".env").write_text("\n".join([f"{name}=https://elsewhere.test/{KEY}" for name in others]))
    before = dict(os.environ)
    rows = providers.rows()
    with pytest.raises(OptionError, match=r"^\.env names no key of a known provider, such as ANTHROPIC_API_KEY=…$"):
        take(providers, ".env")
    with Path(".env").open("a") as file:
        file.write(f"\nANTHROPIC_API_KEY={OTHER}\n")
    assert take(providers, ".env").taken == ("ANTHROPIC_API_KEY",)
    assert dict(os.environ) == before
    assert [row["name"] for row in providers.rows()] == [row["name"] for row in rows]
    assert "elsewhere.test" not in repr([providers.config(name) for name in providers.names()])


def test_what_is_set_already_counts_and_it_says_so(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-the-environment")
    monkeypatch.setenv("GOOGLE_API_KEY", "of-the-environment-too")
    Defaults.drivers_config = llmneutral.OpenAiDriversConfig(api_key="given-in-the-code")
    lines = ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "XAI_API_KEY"]
    Path(".env").write_text("\n".join([f"{name}={KEY}" for name in lines]))
    found = take(providers, ".env")
    assert (found.preset, found.given) == (("ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), ())
    assert found.taken == ("OPENAI_API_KEY", "XAI_API_KEY"), "openai-chat had none"
    assert "ANTHROPIC_API_KEY, GOOGLE_API_KEY are set in the environment already, which counts" in found.told()
    assert key_of(providers, "anthropic") == "of-the-environment"
    assert key_of(providers, "google") == "of-the-environment-too"
    assert key_of(providers, "openai") == "given-in-the-code"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "  ")
    assert "ANTHROPIC_API_KEY" in take(providers, ".env").taken, "blanks are no key"


def test_a_key_that_was_given_in_code_is_left(providers: Providers) -> None:
    Defaults.drivers_config = llmneutral.XAiDriversConfig(api_key="given-in-the-code")
    Path(".env").write_text(f"XAI_API_KEY={KEY}\n")
    assert take(providers, ".env").told() == (
        "nothing is taken from .env; XAI_API_KEY left: a key was given in code, which counts"
    )


def test_a_file_that_is_read_again_counts_again(providers: Providers) -> None:
    for key in (KEY, OTHER):
        Path(".env").write_text(f"ANTHROPIC_API_KEY={key}\n")
        take(providers, ".env")
        assert key_of(providers, "anthropic") == key


def test_a_key_goes_only_to_the_address_it_is_for(providers: Providers) -> None:
    """As a key in the environment does: that of OpenAI is not sent to another vendor."""
    Defaults.drivers_config = llmneutral.OpenAiChatDriversConfig("m", base_url="https://api.groq.com/openai/v1")
    Path(".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    assert take(providers, ".env").taken == ("OPENAI_API_KEY",)
    assert key_of(providers, "openai") == KEY
    assert key_of(providers, "openai-chat") is None


def test_what_else_is_said(providers: Providers) -> None:
    Path("keys").write_text(f"{KEY}\nXAI_API_KEY=\nCO_API_KEY=${{{OTHER}}}\nMISTRAL_API_KEY=“{OTHER}”\n")
    told = take(providers, "keys").told()
    assert told == "nothing is taken from keys; XAI_API_KEY is empty there; lines 1, 3, 4 cannot be read as NAME=value"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (
            ".env",
            r"^there is no file \.env in the working folder; %provider key --env FILE takes keys from another one",
        ),
        ("no.env", r"^there is no file no\.env; %provider key --env FILE"),
        ("folder", "^folder is a folder; %provider key --env FILE takes a file of lines NAME=value"),
        ("utf16", "^utf16 is no text in UTF-8; save it as one"),
        ("huge", "^huge is larger than 1,048,576 bytes"),
        ("empty", "^empty names no key of a known provider, such as ANTHROPIC_API_KEY=…$"),
        ("broken", "^broken names no key of a known provider.*; lines 1, 2 cannot be read as NAME=value$"),
        ("a" * 300, "cannot be read: File name too long; %provider key NAME asks for a key"),
    ],
)
def test_a_file_that_gives_no_key_is_one_error(providers: Providers, file: str, said: str) -> None:
    Path("folder").mkdir()
    Path("utf16").write_bytes(f"ANTHROPIC_API_KEY={KEY}".encode("utf-16"))
    Path("huge").write_bytes(b"#" * 2_000_000)
    Path("empty").touch()
    Path("broken").write_text(f"{KEY}\n{OTHER}\n")
    with pytest.raises(OptionError, match=said) as raised:
        take(providers, file)
    assert KEY not in str(raised.value)


# ----------------------------------------------------------------------------------------------------------------------
# What the working folder has


def test_the_remedy_tells_of_the_file_only_where_it_names_the_variable(providers: Providers) -> None:
    def told() -> set[str]:
        return {row["key_variable"] for row in providers.rows() if row["in_env_file"]}

    assert (named_here(), told()) == (frozenset(), set())
    Path(".env").write_text(f"ANTHROPIC_API_KEY={KEY}\nXAI_API_KEY=\nPATH=x\n")
    assert named_here() == {"ANTHROPIC_API_KEY", "PATH"}
    assert told() == {"ANTHROPIC_API_KEY"}
    for name, is_told in (("anthropic", True), ("xai", False)):
        asked = providers.asked(name, None, {})
        with pytest.raises(llmneutral.ConfigurationError) as raised:
            providers.check_key(asked)
        providers.advise(raised.value, [asked])
        assert ("Take it from .env with %provider key --env, type it with" in str(raised.value)) is is_told
        assert f"ype it with %provider key {name}" in str(raised.value)
    Path(".env").unlink()
    Path(".env").mkdir()
    assert named_here() == frozenset()


@given(st.binary())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_breaks_what_is_shown(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path(".env").write_bytes(content)
        assert isinstance(named_here(), frozenset)
    finally:
        os.chdir(before)
