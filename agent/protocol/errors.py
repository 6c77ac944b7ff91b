"""The exception hierarchy.

RundryError                 its text is for people: what is wrong, and the fix
├── UserError               the user's input cannot be used: exit code 2, nothing changed
│   ├── ConfigError         a value in a config file is wrong; the text says where
│   └── NotTrusted          a file chooses what only a trusted one may; the view adds the line to type
├── JournalError            the run's file cannot be read or written
│   ├── NewerJournal        a newer version of this program wrote the file
│   ├── JournalUnwritable   writing failed during the run: a later attempt may succeed
│   └── RunHeld             another runner is executing this run
└── Refusal                 a precondition of the run does not hold: outcome `refused`
    └── Unreachable         the model server does not answer: a later attempt may succeed
"""


class RundryError(Exception):
    """Base of all errors that a person may see. Its text is one line: what is wrong, and the fix."""


class UserError(RundryError):
    """A flag, a file or a value that the user gave cannot be used."""


class ConfigError(UserError):
    """A value in a config file is wrong; the text says in which file and under which key."""


class NotTrusted(UserError):
    """A file chooses what only a trusted one may. The text ends before the command line that trusts it."""


class JournalError(RundryError):
    """The run's file is missing, damaged, newer than this program, or cannot be written."""


class NewerJournal(JournalError):
    """A newer version of this program wrote the run's file, which is not damaged."""


class JournalUnwritable(JournalError):
    """The run's file can no longer be written: the disk is full or failed. Recorded events are kept."""


class RunHeld(JournalError):
    """Another runner is executing the run; the text contains its process id."""


class Refusal(RundryError):
    """The run must not start: a precondition does not hold. Nothing was changed."""


class Unreachable(Refusal):
    """The model server does not answer."""
