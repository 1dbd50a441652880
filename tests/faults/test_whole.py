"""Every cell of the matrix that asks for a whole answer is as the table has it."""

from __future__ import annotations

import pytest

from tests.faults.cells import Cell, cells, differences, measured


@pytest.mark.parametrize("cell", [cell for cell in cells() if not cell.streams], ids=str)
def test_cell(cell: Cell) -> None:
    assert differences(cell, measured(cell)) == []
