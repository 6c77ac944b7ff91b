"""What can go wrong, as one tree.

RundryError                 one line for a person: the thing and the mend
├── UserError               what the user gave cannot be used: exit code 2, nothing changed
│   └── ConfigError         a value in a config file, with where it stands
├── JournalError            the run's file cannot be read or written
│   ├── NewerJournal        a newer version of this program wrote it
│   ├── JournalUnwritable   it could not be written while its run was under way: trying later can help
│   └── RunHeld             another runner drives this run
└── Refusal                 a precondition of the run does not hold: outcome `refused`
    └── Unreachable         nobody answers at the model server's address: trying later can help
"""


class RundryError(Exception):
    """Base of all errors that a person may see. Its text is one line that names the thing and the mend."""


class UserError(RundryError):
    """A flag, a file or a value that the user gave cannot be used."""


class ConfigError(UserError):
    """A value in a config file is wrong; the text says in which file and under which key."""


class JournalError(RundryError):
    """The run's file is missing, damaged, newer than this program, or cannot be written."""


class NewerJournal(JournalError):
    """A newer version wrote the run's file: nothing is wrong with it."""


class JournalUnwritable(JournalError):
    """The run's file could not be written any more: the disk is full, or failed. What was recorded is kept."""


class RunHeld(JournalError):
    """Another runner holds the run; the text has its pid."""


class Refusal(RundryError):
    """The run must not start: a precondition does not hold. Nothing was changed."""


class Unreachable(Refusal):
    """The model server does not answer."""
