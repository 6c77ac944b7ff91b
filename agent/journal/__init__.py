"""Store the events and commands of a run: each is written once, with keys hidden, and can be read by any process."""

from .claim import Claim, Holder, claim, holder
from .event_writer import Entry
from .journal import Journal
from .redact import Redactor
from .stream_redactor import StreamRedactor

__all__ = ["Claim", "Entry", "Holder", "Journal", "Redactor", "StreamRedactor", "claim", "holder"]
