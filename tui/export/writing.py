"""Write a run as JSON Lines, Markdown, HTML or ATIF, or its findings as SARIF, CSV or Markdown.

Text of models, files and tools stays text there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rundry.agent import Journal, UserError, exported, exported_lines, otlp_lines

from ..start.confirmed_findings import findings_of
from .atif import atif_lines
from .findings.findings_as_csv import as_csv
from .findings.findings_as_markdown import as_markdown
from .findings.review_comments import as_comments
from .findings.sarif import as_sarif
from .formats import ExportFormat
from .page.run_page import run_page
from .read_run import read_run
from .run_as_markdown import markdown_lines


def write_export(journal: Journal, kind: ExportFormat, path: Path, *, content: bool = False) -> None:
    """Write a new file that only its owner can read, because it holds what the run read. Raises RundryError."""
    write_new(path, chunks(journal, kind, content=content))


def write_comments(path: Path, target: Path) -> None:
    """Write the comments of an ended review. `target`: a new file, or that of an earlier review. Raises RundryError."""
    journal = Journal.open_for_reading(path)
    try:
        pieces = list(chunks(journal, ExportFormat.COMMENTS))
        written = target.with_name(f".{target.name}.{journal.spec.run_id}")
        write_new(written, pieces, option="--comments")
        try:
            written.replace(target)
        except OSError as error:
            written.unlink(missing_ok=True)
            raise UserError(f"--comments {target} cannot be written: {error.strerror}") from None
    finally:
        journal.close()


def export_next_to(journal: Journal, kind: ExportFormat) -> Path:
    """Write a new file into `exports`, next to the folder of the journals, and return it. Raises RundryError."""
    folder = journal.path.parent.parent / "exports"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made: {error.strerror}; use rundry export -o FILE") from None
    name, suffix = journal.path.stem, kind.value.rpartition("-")[2]
    names = itertools.chain([name], (f"{name}-{n}" for n in itertools.count(2)))
    target = next(file for each in names if not (file := folder / f"{each}.{suffix}").exists())
    write_export(journal, kind, target)
    return target


def write_new(path: Path, pieces: Iterable[bytes], *, option: str = "-o") -> None:
    """Write the pieces into a new file that only its owner can read; a part of them leaves none. Raises UserError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(pieces)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise UserError(f"{path} already exists: give {option} another name") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None


def chunks(journal: Journal, kind: ExportFormat, *, content: bool = False) -> Iterable[bytes]:
    """Return the run in this format, piece by piece. Raises JournalError, and UserError for findings of another run.

    `content`: spans contain texts of the run.
    """
    match kind:
        case ExportFormat.JSONL:
            return exported_lines(journal)
        case ExportFormat.MARKDOWN:
            return as_bytes(markdown_lines(read_run(journal)))
        case ExportFormat.HTML:
            return as_bytes(run_page(read_run(journal)))
        case ExportFormat.SARIF:
            return _encoded(as_sarif(findings_of(journal)))
        case ExportFormat.CSV:
            return _encoded(as_csv(findings_of(journal)))
        case ExportFormat.FINDINGS:
            return _encoded(as_markdown(findings_of(journal)))
        case ExportFormat.COMMENTS:
            return _encoded(as_comments(journal, findings_of(journal)))
        case ExportFormat.OTLP:
            return otlp_lines(journal.spec, exported(journal), with_content=content)
        case ExportFormat.ATIF:
            return as_bytes(atif_lines(exported(journal)))


def _encoded(parts: Iterable[str]) -> Iterator[bytes]:
    return (part.encode(errors="backslashreplace") for part in parts)


def as_bytes(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield each line in UTF-8."""
    for line in lines:
        yield (line + "\n").encode(errors="backslashreplace")
