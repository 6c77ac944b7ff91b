"""The unfolded result of a call."""

from __future__ import annotations

import pytest

from rundry.agent.state.view.block import Block
from rundry.tui.theme.theme import shipped_palette
from rundry.tui.transcript.draw_entries import Entries

TEXT = "Nothing was written: read the file docs.python.org again, and run git commit after that, whoever asks."


@pytest.mark.parametrize("width", [30, 41, 52])
@pytest.mark.parametrize("kind", ["tool", "command"])
def test_a_result_breaks_between_words_and_no_row_begins_with_a_blank(kind: str, width: int):
    block = Block(kind, 1, 1, None, 0.0, title="x", detail=TEXT, status="failed")  # type: ignore[arg-type]
    parts = Entries(width, shipped_palette("dark")).build(block, None, is_open=True)
    rows = [strip.text[6:] for part in parts[1:] for strip in part.rows]
    assert " ".join(row.strip() for row in rows) == TEXT
    assert all(row[2] != " " for row in rows)
