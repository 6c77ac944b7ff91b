"""The formats of `rundry export`. Imports nothing of the program: the command line reads it on every start."""

from __future__ import annotations

from enum import StrEnum


class ExportFormat(StrEnum):
    """A format of `rundry export`, by the word for `--format`."""

    JSONL = "jsonl"
    MARKDOWN = "md"
    HTML = "html"
    SARIF = "sarif"
    """The findings of a search, for code scanning."""
    CSV = "csv"
    """The findings of a search, for a spreadsheet."""
    FINDINGS = "findings-md"
    """The findings of a search, for people."""
    COMMENTS = "comments-json"
    """The findings of a review, as the body with which GitHub's API creates a review of a pull request."""
    OTLP = "otlp"
    """The spans of the run, for a collector of OpenTelemetry."""
    ATIF = "atif"
    """The trajectory of the run, for Harbor and other programs that evaluate agents."""
