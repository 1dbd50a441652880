"""What `%config PromptMagics.max_rows` and `.max_image_bytes` say, in a shell that looks like a kernel's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from llmneutral_widgets import limits
from llmneutral_widgets.views.limits import USUAL, Limits
from tests.widgets.samples import PNG
from tests.widgets.shell import Cells, running

LONG = (
    "import llmneutral\n"
    "stack = llmneutral.PromptStack([llmneutral.Message('user', f'word {n} here') for n in range(50)])"
)
PICTURED = (
    f"picture = llmneutral.ImageMessageContent(data={PNG!r}, media_type='image/png')\n"
    "drawn = llmneutral.PromptStack([llmneutral.Message('user', (picture,))])"
)


@pytest.fixture
def cells() -> Iterator[Cells]:
    with running(is_kernel=True) as found:
        found.run(LONG)
        yield found


def shown(cells: Cells, line: str) -> int:
    return len(re.findall(r"<b>\d+ user</b>", cells.run(line).html))


def test_rows_are_shown_as_the_trait_says_now(cells: Cells) -> None:
    ways = ("%stack {{stack}}", "display(stack)", "llmneutral.widgets.show(stack)")
    assert [shown(cells, way) for way in ways] == [33, 33, 33]
    cells.run("%config PromptMagics.max_rows = 5")
    assert [shown(cells, way) for way in ways] == [5, 5, 5], "without a magic in between, too"
    panel = "llmneutral.widgets.StackView(stack)"
    assert cells.run(f"view = {panel}; view.hidden").value == 45
    assert shown(cells, "%stack {{stack}} --all") == 50, "what is asked for in the line wins"
    assert shown(cells, "%payload chat_completions {{stack}}") == 5
    cells.run("%config PromptMagics.max_rows = 0")
    assert shown(cells, "display(stack)") == 33


def test_pictures_are_shown_as_the_trait_says_now(cells: Cells) -> None:
    cells.run(PICTURED)
    assert "<img" in cells.run("%stack {{drawn}}").html
    assert "<img" in cells.run("display(drawn)").html
    cells.run("%config PromptMagics.max_image_bytes = 10")
    for way in ("%stack {{drawn}}", "display(drawn)", "%payload chat_completions {{drawn}}"):
        ran = cells.run(way)
        assert "<img" not in ran.html, way
        assert "image/png, " in ran.html, way


@pytest.mark.parametrize(
    ("trait", "value", "said"),
    [
        ("max_rows", -1, "%config PromptMagics.max_rows is -1; it is 1 to 200, or 0: what suits each view"),
        ("max_rows", 201, "%config PromptMagics.max_rows is 201; it is 1 to 200, or 0: what suits each view"),
        ("max_image_bytes", -1, "%config PromptMagics.max_image_bytes is -1; it is 0 to 32768"),
        ("max_image_bytes", 32_769, "%config PromptMagics.max_image_bytes is 32769; it is 0 to 32768"),
    ],
)
def test_what_cannot_be_meant_is_one_error_of_a_magic_and_none_of_a_repr(
    cells: Cells, trait: str, value: int, said: str
) -> None:
    cells.run(f"%config PromptMagics.{trait} = {value}")
    assert cells.run("%stack").printed.strip() == f"UsageError: {said}"
    assert shown(cells, "display(stack)") == 33
    assert cells.run("display(stack)").error is None


def test_the_help_tells_of_both(cells: Cells) -> None:
    told = cells.run("%config PromptMagics").printed
    assert "PromptMagics.max_rows=<Int>\n    how many rows or messages a view shows; 0 is what suits each view" in told
    assert "PromptMagics.max_image_bytes=<Int>\n    larger pictures are a line with their size; 32768 at most" in told


def test_a_shell_that_has_gone_says_nothing_any_more() -> None:
    with running(is_kernel=True) as cells:
        cells.run("%config PromptMagics.max_rows = 7\n%config PromptMagics.max_image_bytes = 8")
        assert limits.current() == Limits(7, 8)
        cells.shell.extension_manager.unload_extension("llmneutral")
        assert limits.current() == USUAL
        cells.shell.extension_manager.load_extension("llmneutral")
    assert limits.current() == USUAL
