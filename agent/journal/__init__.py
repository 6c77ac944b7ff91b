"""Events and commands of a run on disk: written once, read by anyone, redacted on the way in."""

from .claim import Claim, Holder, claim, holder
from .journal import Entry, Journal
from .listing import RunLine
from .redact import Redactor
from .runs import find_run, journal_path, list_runs, new_run_id, runs_dir
from .streaming import StreamRedactor

__all__ = [
    "Claim",
    "Entry",
    "Holder",
    "Journal",
    "Redactor",
    "RunLine",
    "StreamRedactor",
    "claim",
    "find_run",
    "holder",
    "journal_path",
    "list_runs",
    "new_run_id",
    "runs_dir",
]
