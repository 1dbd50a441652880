"""Tables of figures: what was measured, its ratio to the baseline, what is aimed at, and whether that is reached."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One line of a table.

    Attributes:
        name: What was measured.
        figure: The median, in the unit of the table.
        baseline: The figure of the same run that the ratio is to; None: it is a baseline itself.
        ratio_aim: Most that the ratio may be.
        aim: Most that the figure may be.
    """

    name: str
    figure: float
    baseline: float | None = None
    ratio_aim: float | None = None
    aim: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.figure / self.baseline if self.baseline else None

    @property
    def reached(self) -> str:
        """For each aim in turn: the ratio's, then the figure's."""
        aims = ((self.ratio, self.ratio_aim), (self.figure, self.aim))
        return " ".join([_says(told <= most) for told, most in aims if told is not None and most is not None])


def _says(reached: bool) -> str:
    return "yes" if reached else "NO"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def show(title: str, unit: str, rows: list[Row]) -> None:
    """Prints a table."""
    wide = max([len(title), *[len(row.name) for row in rows]])
    print(f"\n{title:{wide}}  {unit:>10}  {'ratio':>6}  {'aim':>6}  {'aim in unit':>11}  reached")
    for row in rows:
        figure, ratio = _number(row.figure, "10.3f"), _number(row.ratio, ".2f")
        ratio_aim, aim = _number(row.ratio_aim, ".2f"), _number(row.aim, "g")
        print(f"{row.name:{wide}}  {figure}  {ratio:>6}  {ratio_aim:>6}  {aim:>11}  {row.reached}".rstrip(), flush=True)
