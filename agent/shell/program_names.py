"""The tables of programs, options and git commands, as dictionaries and sets by name."""

from __future__ import annotations

from .program_table import git, programs, risky_options

_PROGRAMS, _OPTIONS, _GIT = programs(), risky_options(), git()

NEVER = {name: row.why for row in _PROGRAMS.always for name in row.programs}
"""Programs that must ask even if a rule allows them, with the reason."""
HIDING = frozenset(row.why for row in _PROGRAMS.always if row.hides)
"""Reasons in `NEVER` of programs that may run a command that is not visible."""
SHELLS, WRITERS, READERS = (frozenset(table) for table in (_PROGRAMS.shells, _PROGRAMS.writers, _PROGRAMS.readers))
PLACED, INERT, NEUTRAL = (frozenset(table) for table in (_PROGRAMS.placed, _PROGRAMS.inert, _PROGRAMS.neutral))
WHOLE, SINGLE_DASH, LISTS = (frozenset(table) for table in (_PROGRAMS.whole, _PROGRAMS.single_dash, _PROGRAMS.lists))
ALIKE = {name: row.is_ for name, row in _PROGRAMS.alike.items()}
WRAPPERS = {row.program: (row.flags, row.valued) for row in _PROGRAMS.wrapper}
INTERPRETERS = {row.program: row.options for row in _OPTIONS.interpreter}
PYTHON_CODE = _OPTIONS.python_modules.names
RISKY = {row.program: row.options for row in _OPTIONS.risky}
GIT_BEFORE, GIT_RISKY = _GIT.before.options, frozenset(_GIT.risky)
GIT_EDITS = {row.command: row.unless for row in _GIT.edits}
GIT_MAY_EDIT, GIT_COMMANDS = frozenset(_GIT.may_edit), frozenset(_GIT.commands)
GIT_READS = frozenset(_GIT.reads)
GIT_HARMLESS = _GIT.harmless.options
GIT_LETTERS = {command: (row.flags, row.valued) for command, row in _GIT.letters.items()}
