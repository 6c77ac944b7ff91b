"""The names of `import rundry`, each stated once."""

from rundry.agent import (
    VERSION as VERSION,
    Applied as Applied,
    ConfigError as ConfigError,
    Evidence as Evidence,
    JournalError as JournalError,
    ProposalOpened as ProposalOpened,
    QuestionAsked as QuestionAsked,
    Reason as Reason,
    Refusal as Refusal,
    RundryError as RundryError,
    RunEnded as RunEnded,
    RunLine as RunLine,
    Spent as Spent,
    Stamped as Stamped,
    UserError as UserError,
)

from ..start.confirmed_findings import FoundRow as FoundRow
from .held_run import Interrupted as Interrupted, Refused as Refused, Request as Request
from .hold import StillRunning as StillRunning
from .options import Options as Options, SearchOptions as SearchOptions
from .run import AsyncRun as AsyncRun, Run as Run
from .staged import Staged as Staged
from .starting import (
    attach as attach,
    attach_async as attach_async,
    find as find,
    find_async as find_async,
    runs as runs,
    start as start,
    start_async as start_async,
)
