"""What a cell shows of an error: the reader's own frames and one line, and all of it on request."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import llmneutral
from llmneutral_widgets.failures import cleaned
from llmneutral_widgets.scrub import Secrets
from tests.widgets.kernel import Kernel
from tests.widgets.shell import Cells, running

SECRET = "tiger-lily-umbrella"
MINE = """
import llmneutral
class Mine(llmneutral.BasePromptDriver):
    needs_key = False
    def __init__(self):
        super().__init__("m", api_mode="chat_completions")
    def try_run(self, stack):
        return look_up(stack)
    def try_stream(self, stack):
        look_up(stack)
        yield
def look_up(stack):
    password = "a value that nobody may see"
    raise {error}
mine = Mine()
"""


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    monkeypatch.setenv("PROMPTS_API_KEY", SECRET)
    with running(is_kernel=True) as found:
        yield found


def mine(cells: Cells, error: str) -> None:
    assert cells.run(MINE.replace("{error}", error)).error is None


def lines(error: Any) -> list[str]:
    told: list[str] = error._render_traceback_()
    return told


@pytest.mark.parametrize("how", ["", "--no-stream ", "--quiet ", "-p {{mine}} "])
def test_a_mistake_in_a_driver_of_the_users_shows_their_frames_and_one_line(cells: Cells, how: str) -> None:
    mine(cells, "ValueError('there is no such city')")
    ran = cells.run(f"%prompt -p {{{{mine}}}} {how}Hi")
    assert type(ran.error) is ValueError
    told = lines(ran.error)
    assert [line for line in told if line.startswith("Cell In[2]")] == ["Cell In[2], line 1"]
    assert "Cell In[1], line 13, in look_up" in told
    assert "    raise ValueError('there is no such city')" in told
    assert told[-2] == "ValueError: there is no such city"
    assert told[-1].startswith("→ %config PromptMagics.tracebacks = 'full' shows all ")
    assert len(told) <= 8
    assert "asking.py" not in ran.printed
    assert "look_up" in ran.printed


def test_all_frames_are_there_on_request_without_locals_and_secrets(cells: Cells) -> None:
    mine(cells, f"ValueError('{SECRET}')")
    assert cells.run("%prompt -p {{mine}} -o kept Hi").error is not None
    for told in (
        cells.run("kept.error.traceback()").value,
        cells.run("%config PromptMagics.tracebacks = 'full'\n%prompt -p {{mine}} Hi").printed,
    ):
        assert "asking.py" in told
        assert "look_up" in told
        assert "ValueError: •••" in told
        assert "nobody may see'" not in told
        assert SECRET not in told


def test_what_the_library_says_of_its_own_errors_stays_and_has_its_frames(cells: Cells) -> None:
    ran = cells.run("%prompt -p {{echo}} -o kept please fail")
    assert lines(ran.error) == ["InvalidRequestError (invalid_request_error, status 400): it failed"]
    assert "asking.py" in cells.run("kept.error.traceback()").value


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("KeyError('x')", "KeyError: 'x'"),
        (f"OSError(2, 'no file', '/data/{SECRET}')", "FileNotFoundError: [Errno 2] no file: '/data/•••'"),
        ("SyntaxError('no Python')", "SyntaxError: no Python"),
        (f"ExceptionGroup('many', [ValueError('{SECRET}')])", "ExceptionGroup: many (1 sub-exception)"),
        (f"type('Odd', (Exception,), {{'__str__': lambda self: '{SECRET}'}})", "Odd: •••"),
        ("UnicodeDecodeError('utf-8', b'a', 0, 1, 'odd')", "UnicodeDecodeError: 'utf-8' codec can't decode"),
    ],
)
def test_every_kind_of_error_is_told_so_and_holds_no_secret(cells: Cells, error: str, said: str) -> None:
    """Also those that IPython shows in a way of its own, and those whose words cannot be changed."""
    mine(cells, error)
    ran = cells.run("%prompt -p {{mine}} Hi")
    assert type(ran.error).__name__ == said.partition(":")[0]
    assert any([said in line for line in lines(ran.error)])
    assert "    raise " in ran.printed
    assert "asking.py" not in ran.printed
    assert SECRET not in ran.printed + ran.html + str(ran.error)


def test_what_an_error_was_caused_by_is_told_where_it_is_the_readers(cells: Cells) -> None:
    mine(cells, "ValueError('no city') from KeyError('rome')")
    assert "KeyError: 'rome'" not in lines(cells.run("%prompt -p {{mine}} Hi").error), "it has no frame"
    cells.run(
        "def look_up(stack):\n    try:\n        {}['rome']\n    except KeyError as error:\n"
        "        raise ValueError from error"
    )
    told = lines(cells.run("%prompt -p {{mine}} Hi").error)
    assert told.index("KeyError: 'rome'") < told.index("ValueError")
    assert "        {}['rome']".strip() in [line.strip() for line in told]


def test_a_file_of_the_readers_is_named_without_its_folder(cells: Cells, tmp_path: Path) -> None:
    (tmp_path / "cities.py").write_text("def look_up(stack):\n    raise ValueError('no')\n")
    mine(cells, "ValueError")
    cells.run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from cities import look_up; sys.path.pop(0)")
    ran = cells.run("%prompt -p {{mine}} Hi")
    assert "File cities.py, line 2, in look_up" in lines(ran.error)
    assert str(tmp_path) not in ran.printed


def test_a_bug_of_ours_is_one_line_too(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("inspecting.stack", "sent.payload", "sent.deltas", "inspecting.usage", "inspecting.provider"):
        monkeypatch.setattr(f"llmneutral_widgets.magics.{place}", lambda here, line: 1 // 0)
        name = place.partition(".")[2]
        ran = cells.run(f"%{name}")
        told = lines(ran.error)
        assert told[0].startswith("Cell In["), name
        assert told[-2].startswith("ZeroDivisionError: ")
        assert "magics.py" not in ran.printed


def test_a_long_text_is_cut(cells: Cells) -> None:
    mine(cells, "ValueError('x' * 100_000)")
    ran = cells.run("%prompt -p {{mine}} Hi")
    assert sum(map(len, lines(ran.error))) < 4_000


def test_an_interrupt_stays_one(cells: Cells) -> None:
    mine(cells, "KeyboardInterrupt")
    ran = cells.run("%prompt -p {{mine}} Hi")
    assert type(ran.error) is KeyboardInterrupt
    assert lines(ran.error) == ["KeyboardInterrupt: the answer was stopped; nothing of it had come yet"]


CALLS = {
    "run": "echo.run('One stop')",
    "streamed": "echo.run('One stop', stream=True)",
    "stream": "list(echo.stream('One stop'))",
    "agent": "llmneutral.Agent(echo).run('One stop')",
    "async": "await echo.astream('One stop').__anext__(); await echo.arun('One stop')",
    "in a function": "def ask():\n    return echo.run('One stop')\nask()",
}


@pytest.mark.parametrize("code", CALLS.values(), ids=CALLS)
def test_an_interrupt_of_a_call_tells_where_and_what_is_kept(cells: Cells, code: str) -> None:
    cells.run("import llmneutral")
    ran = cells.run(code)
    assert type(ran.error) is KeyboardInterrupt
    told = lines(ran.error)
    assert told[0] == f"Cell In[2], line {len(code.splitlines())}"
    assert told[1].strip() == code.splitlines()[-1]
    assert "KeyboardInterrupt: the answer was stopped; what had come stands in its `partial`" in told
    assert told[-1].startswith("→ %config PromptMagics.tracebacks = 'full' shows all ")
    assert ("→ the agent's `memory` has the calls of tools that were run" in told) == ("Agent" in code)
    assert len(told) < 12
    assert "runners.py" not in ran.printed
    assert "runners.py" in cells.run("import sys; sys.last_value.traceback()").value
    assert cells.run("import sys; sys.last_value.partial.text").value == "ONE STOP "


def test_an_interrupt_before_anything_has_come_says_so(cells: Cells) -> None:
    mine(cells, "KeyboardInterrupt")
    told = lines(cells.run("mine.run('Hi')").error)
    assert told[-2] == "KeyboardInterrupt: the answer was stopped; nothing of it had come yet"
    assert "    raise KeyboardInterrupt" in told


@pytest.mark.parametrize(
    "code",
    [
        "raise KeyboardInterrupt",
        "with echo.stream('One two') as stream:\n    next(stream)\n    raise KeyboardInterrupt",
        "stream = echo.stream('One')\ntry:\n    raise KeyboardInterrupt\nfinally:\n    next(stream), stream.close()",
    ],
)
def test_an_interrupt_of_other_code_is_not_touched(cells: Cells, code: str) -> None:
    cells.run("import llmneutral")
    ran = cells.run(code)
    assert type(ran.error) is KeyboardInterrupt
    assert vars(ran.error) == {}


def test_all_frames_of_an_interrupt_are_there_on_request(cells: Cells) -> None:
    cells.run("import llmneutral")
    ran = cells.run("%config PromptMagics.tracebacks = 'full'\necho.run('One stop')")
    assert vars(ran.error) == {}
    assert "runners.py" in ran.printed


def test_an_interrupt_of_a_call_is_as_ever_where_nothing_is_loaded(cells: Cells) -> None:
    cells.run("import llmneutral")
    cells.run("%unload_ext llmneutral")
    assert vars(cells.run("echo.run('One stop')").error) == {}


def test_nothing_of_the_shell_is_changed(cells: Cells) -> None:
    assert cells.shell.custom_exceptions == ()
    assert "Traceback" in cells.run("1 / 0").printed


def test_what_a_kernel_saves_of_an_error_is_short_and_clean(tmp_path: Path) -> None:
    with Kernel(tmp_path, PROMPTS_API_KEY=SECRET) as kernel:
        kernel.run("%load_ext llmneutral")
        kernel.run(MINE.replace("{error}", f"OSError(2, 'no file', '{SECRET}')"))
        ran = kernel.run("%prompt -p {{mine}} Hi")
    (error,) = [output for output in ran.outputs if output["output_type"] == "error"]
    assert (error["ename"], error["evalue"]) == ("FileNotFoundError", "[Errno 2] no file: '•••'")
    assert len(error["traceback"]) <= 8
    assert SECRET not in str(ran.outputs)


def test_an_error_is_cleaned_with_everything_it_was_caused_by() -> None:
    secrets = Secrets([SECRET])
    inner = ValueError(SECRET, 5)
    outer = llmneutral.RateLimitError(f"it said {SECRET}", hint=f"not {SECRET}")
    outer.__cause__ = inner
    inner.__context__ = outer  # a circle ends
    assert cleaned(outer, secrets) is outer
    told = " ".join([str(outer), *outer._render_traceback_(), str(inner.args)])
    assert "tiger" not in told
    assert told.count("•••") >= 4
    assert inner.args[1] == 5


def test_an_error_can_still_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(cleaned(llmneutral.RateLimitError("busy"))))
    assert str(again) == f"busy. {llmneutral.RateLimitError.default_hint}"


CONTROLS = "bad\\x1b[2J\\u202e"


@pytest.mark.parametrize("error", [f"llmneutral.InvalidRequestError('{CONTROLS}')", f"ValueError('{CONTROLS}')"])
@pytest.mark.parametrize("how", ["", "--quiet "])
def test_no_error_drives_a_terminal(cells: Cells, error: str, how: str) -> None:
    mine(cells, error)
    ran = cells.run(f"%prompt -p {{{{mine}}}} {how}Hi")
    assert "\x1b[2J" not in "".join(lines(ran.error)) + str(ran.error)
    assert "bad" in str(ran.error)


def test_an_error_as_a_value_holds_no_secret(cells: Cells) -> None:
    shown = cells.run(f"import llmneutral\nllmneutral.InvalidRequestError('it said {SECRET}')")
    assert SECRET not in shown.printed + shown.html
    assert "InvalidRequestError: it said •••" in shown.printed
