"""The paths that a run is meant to change. A change elsewhere is undecided until a person decides on it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

import msgspec

from ...host.files.quick_spec import QuickSpec
from ...host.ignored_files import IgnoreRules
from ...protocol.text.counts import plural
from ...protocol.text.path_text import quoted_path
from ..checks.tool_files import settings_of_tools
from ..plants.inner_tests import with_old_tests
from .source_names import (
    configuration,
    frameworks,
    in_dependencies,
    is_hidden,
    is_source,
    is_test_name,
    printed,
    standard,
)

_PYTHON = (".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DATA = "a setting or data"
_PRINTED = "the first check printed a test in it"
_SHOWN = 3
"""Endings that the line at the start names."""


class Scope(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a run may change. `scope_of` makes it from the start of the run, and the journal keeps it."""

    everything: bool = False
    """`--guard none`: each path is in the scope."""
    added: tuple[str, ...] = ()
    """Globs of `--scope`, as in a .gitignore."""
    taken: tuple[str, ...] = ()
    """Globs of `--guard`; they count more than all others."""
    items: tuple[str, ...] = ()
    """Globs of the files that a migration changes."""
    named: frozenset[str] = frozenset()
    """Files that a goal names as its result (`--until-file`)."""
    results: frozenset[str] = frozenset()
    """Files that the check only reads and that did not exist at the start."""
    about: frozenset[str] = frozenset()
    """Files that the task is about: those of a finding. Tests, settings and what the check runs stay out."""
    scripts: frozenset[str] = frozenset()
    """Files without an ending that are scripts."""
    decides: Mapping[str, str] = {}
    """Paths that decide the check, existing or not, in folded form, with the reason."""
    patterns: tuple[tuple[str, str], ...] = ()
    """Globs of such paths, in folded form, with the reason."""
    ignore: Mapping[str, list[str]] = {}
    """The lines of each `.gitignore`, by its folder (`a/b/`; empty for the root)."""
    excludes: tuple[list[str], ...] = ()
    """The lines of further files of patterns for the whole workspace, the strongest last."""
    closed: frozenset[str] = frozenset()
    """Folders of installed packages and of other repositories."""
    roots: frozenset[str] = frozenset()
    """Folders in which Python searches for modules (`a/b/`; empty for the workspace)."""
    modules: frozenset[str] = frozenset()
    """Names of standard and installed Python modules."""
    endings: tuple[str, ...] = ()
    """Endings of the sources of the start, the most frequent first."""
    inner: frozenset[str] = frozenset()
    """Sources that have their tests inside (vitest)."""
    doctests: bool = False
    """The check runs the examples in Python's docstrings."""

    def in_scope(self, path: str, *, new: bool) -> bool:
        """Return whether a change of this file is accepted. `new`: it did not exist at the start.

        A link is never in the scope; the caller knows what lies at the path.
        """
        return not self.why_out(path, new=new)

    def why_out(self, path: str, *, new: bool) -> str:
        """Return why a path is not in the scope, in a few words, or empty if it is."""
        if _SURROGATE.search(path):
            return "a name that is not text"
        if self._taken.match_file(path.casefold()):
            return "taken away with --guard"
        if path == ".git" or path.startswith(".git/") or "/.git/" in path or path.endswith("/.git"):
            return "git"
        if self.everything or self._added.match_file(path.casefold()):
            return ""
        return self._why_out_by_default(path, new=new)

    def decides_check(self, path: str) -> bool:
        """Return whether a file that exists is out of the scope because it decides the check, whatever its kind."""
        folded = path.casefold()
        if self.in_scope(path, new=False):
            return False
        is_known = bool(self.decides.get(folded) or self._pattern(folded) or self._taken.match_file(folded))
        return is_known or is_test_name(path) or configuration().match_file(folded) or frameworks().match_file(folded)

    def is_ignored(self, path: str, *, is_folder: bool) -> bool:
        """Return whether git ignored this path, or a folder above it, at the start."""
        return self._ignore.ignored(path, is_dir=is_folder)

    def is_widened(self, path: str, *, new: bool) -> bool:
        """Return whether only `--scope` or `--guard none` put a path into the scope: the grade is then `passed`.

        A file that is not a test or a setting, and that the check does not run, can be added without losing the grade.
        """
        if not self.in_scope(path, new=new) or not self._why_out_by_default(path, new=new):
            return False
        return self.everything or bool(self._why_decides(path, new=new))

    def decides_as(self, path: str, *, new: bool) -> str:
        """Return as what a path can decide a check, in a word or two: `test`, `setting`.

        Empty means a product of the run. A new file of data is a product, such as a report; an existing one may be what
        the check compares with.
        """
        folded, why = path.casefold(), self._why_decides(path, new=new)
        is_setting = is_hidden(path) or any(
            spec.match_file(folded) for spec in (configuration(), settings_of_tools(), frameworks())
        )
        if is_test_name(path) or why == _PRINTED:
            return "test"
        if is_setting:
            return "setting"
        if self._lies_apart(path):
            return "installed file"
        return "" if not why or (new and why == _DATA) else "file"

    def is_outside(self, path: str) -> bool:
        """Return whether an accepted change of this file is out of the scope that it would have without options."""
        return self.is_widened(path, new=True) or not self.in_scope(path, new=True)

    def with_old_tests(self, path: str, old: str | None, new: str) -> str | None:
        """Return the new text of a source with the tests that it had inside at the start.

        Returns None if they have no place. `old`: the text of the start; None if the file did not exist.
        """
        return with_old_tests(path, old, new, doctests=self.doctests)

    def with_first_output(self, output: str, root: Path) -> Scope:
        """Return the scope without the files that the first check printed as places of tests."""
        tests = _printed_tests(output, root, doctests=self.doctests) - self.inner
        places = dict.fromkeys((path.casefold() for path in tests), _PRINTED)
        return msgspec.structs.replace(self, decides={**places, **self.decides}) if places else self

    def with_added(self, globs: Sequence[str]) -> Scope:
        """Return the scope with more globs of `--scope`."""
        return msgspec.structs.replace(self, added=tuple(dict.fromkeys([*self.added, *globs])))

    def _why_out_by_default(self, path: str, *, new: bool) -> str:
        folded = path.casefold()
        if why := self.decides.get(folded) or self._pattern(folded):
            return why
        if path in self.named or (self.items and not new and self._items.match_file(folded)):
            return ""
        if not self._may_be_changed(path):
            return "not a source"
        if self._lies_apart(path):
            return "in a folder of packages or of another repository"
        if self._ignore.ignored(path):
            return "ignored by git"
        return self._why_decides(path, new=new)

    def _why_decides(self, path: str, *, new: bool) -> str:
        """Return why a path decides a check by its name or its content at the start, or empty if it does not."""
        folded = path.casefold()
        if why := self.decides.get(folded) or self._pattern(folded):
            return why
        if is_test_name(path):
            return "a test by its name"
        if not self._may_be_changed(path):
            return _DATA
        if is_hidden(path) or configuration().match_file(folded):
            return "a setting"
        if frameworks().match_file(folded):
            return "part of a test framework"
        if new and (standard().match_file(folded) or self._replaces_module(path)):
            return "new, with the name of a library's module"
        return ""

    def _may_be_changed(self, path: str) -> bool:
        """Return whether the path is a source, or counts as one."""
        return path in self.results or path in self.about or path in self.scripts or is_source(path)

    def _pattern(self, folded: str) -> str:
        return next((why for spec, why in self._specs if spec.match_file(folded)), "")

    def _lies_apart(self, path: str) -> bool:
        if in_dependencies(path):
            return True
        return any(path.startswith(f"{folder}/") for folder in self.closed)

    def _replaces_module(self, path: str) -> bool:
        """Return whether Python could import the file instead of a standard or installed module."""
        for root in self.roots:
            if not path.startswith(root):
                continue
            first, _, inner = path[len(root) :].partition("/")
            stem = first.partition(".")[0]
            is_module = first.endswith(_PYTHON) if not inner else inner.startswith("__init__.")
            if is_module and stem in self.modules:
                return True
        return False

    def line(self) -> str:
        """Return the scope in one line, for the start of a run."""
        if self.everything:
            return "May change: everything (--guard none)"
        more = [*sorted(self.named | self.results | self.about), *self.items, *self.added]
        sources = f"sources{self._kinds()}"
        names = ", ".join([sources, *(quoted_path(name) for name in more[:_SHOWN])])
        rest = f" and {len(more) - _SHOWN} more" if len(more) > _SHOWN else ""
        return (
            f"May change: {names}{rest}; tests, settings and what the check runs do not count until you accept them "
            "(/scope lists them)"
        )

    def _kinds(self) -> str:
        shown = ", ".join(f"*{ending}" for ending in self.endings[:_SHOWN])
        return f" ({shown}{' ...' if len(self.endings) > _SHOWN else ''})" if shown else ""

    def listing(self) -> list[str]:
        """Return the scope in lines, for `/scope`."""
        if self.everything:
            return ["May change: everything (--guard none)", *_listed("Taken away with --guard", self.taken)]
        lines = [f"May change: sources{self._all_kinds()}"]
        lines += _listed("Files that the goal names", sorted(self.named | self.results))
        lines += _listed("Files that the task is about", sorted(self.about))
        lines += _listed("Items of the migration", self.items)
        lines += _listed("Added with --scope", self.added)
        lines.append(
            "Not before you accept it: tests by name, settings, ignored files, packages, and what decides the check:"
        )
        by_reason = dict[str, list[str]]()
        for path, why in sorted([*self.decides.items(), *self.patterns]):
            by_reason.setdefault(why, []).append(path)
        for why, paths in sorted(by_reason.items()):
            lines += _listed(f"{why[:1].upper()}{why[1:]}", paths)
        return [*lines, *_listed("Taken away with --guard", self.taken)]

    def _all_kinds(self) -> str:
        return f": {', '.join(f'*{ending}' for ending in self.endings)}" if self.endings else ""

    @cached_property
    def _taken(self) -> QuickSpec:
        return QuickSpec(glob.casefold() for glob in self.taken)

    @cached_property
    def _added(self) -> QuickSpec:
        return QuickSpec(glob.casefold() for glob in self.added)

    @cached_property
    def _items(self) -> QuickSpec:
        return QuickSpec(glob.casefold() for glob in self.items)

    @cached_property
    def _specs(self) -> list[tuple[QuickSpec, str]]:
        by_reason = dict[str, list[str]]()
        for glob, why in self.patterns:
            by_reason.setdefault(why, []).append(glob)
        return [(QuickSpec(globs), why) for why, globs in by_reason.items()]

    @cached_property
    def _ignore(self) -> IgnoreRules:
        return IgnoreRules(self.ignore, self.excludes)


_MOST_LISTED = 40


def _listed(title: str, paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    shown = ", ".join(quoted_path(path) for path in paths[:_MOST_LISTED])
    more = f", and {plural(len(paths) - _MOST_LISTED, 'more path')}" if len(paths) > _MOST_LISTED else ""
    return [f"  {title}: {shown}{more}"]


def _printed_tests(output: str, root: Path, *, doctests: bool = False) -> set[str]:
    """Return the files in which runners say that a test lies, relative to the workspace.

    `doctests`: the check also runs the examples in docstrings, which do not make a file a test.
    """
    found = set[str]()
    for pattern in printed():
        for match in pattern.finditer(output):
            groups = match.groupdict()
            if groups.get("module"):
                parts = groups["module"].split(".")
                found.update("/".join(parts[: count + 1]) + ".py" for count in range(len(parts)))
            elif not doctests or _is_certain(groups):
                path = os.path.relpath(os.path.normpath(root / groups["path"]), root)
                found.add(PurePosixPath(path).as_posix())
    return {path for path in found if not path.startswith("..")}


def _is_certain(groups: dict[str, str | None]) -> bool:
    """Return whether the name of the test is not that of a documented object: `calc.py::test_add`."""
    return re.match(r"(.*::)?[Tt]est", groups.get("name") or "") is not None
