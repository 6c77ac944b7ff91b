"""Carry out `rundry export`: choose the format, write the file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import Journal

from ..exports.writing import chunks, write_export
from ..setup.resuming import find_any
from ..text import one_line

if TYPE_CHECKING:
    from ..exports.formats import ExportFormat


def export(
    ref: str | None, flags: Mapping[str, object], *, kind: ExportFormat, output: str | None, content: bool
) -> int:
    """Write a run to the file `output`, or to standard output. Raises RundryError.

    `content`: spans contain texts of the run.
    """
    journal = Journal.open(find_any(ref, flags))
    try:
        if output is None or output == "-":
            for chunk in chunks(journal, kind, content=content):
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        else:
            write_export(journal, kind, Path(output), content=content)
            print(f"{journal.spec.run_id}  written to {one_line(output)}")
    finally:
        journal.close()
    return 0
