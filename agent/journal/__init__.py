"""Events and commands of a run on disk: written once, read by anyone, redacted on the way in."""

from .claim import Claim, Holder, claim, holder
from .journal import Entry, Journal
from .redact import Redactor
from .streaming import StreamRedactor

__all__ = ["Claim", "Entry", "Holder", "Journal", "Redactor", "StreamRedactor", "claim", "holder"]
