"""Determine from bash's grammar whether a command line certainly ran a program that exited with 0."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from ...shell.parse_words import UNKNOWN, SimpleCommand, simple_commands

_DEEPEST = 4
_SHELLS = ("sh", "bash", "dash")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_WRITABLE = ("/tmp", "/var/tmp", "/dev", "/proc", "/run")
"""Folders outside the workspace in which a sandboxed command can create programs."""
_QUIET = ("cd", "set")
"""Commands that do not change files."""


class _BeforeScript(msgspec.Struct, frozen=True):
    """Options that are allowed between an interpreter and its script. Any other may prevent the script from running."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    """Options with a value, in the next word or joined to the option."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHELL_OPTIONS = _BeforeScript(_words("-e -u -x -eu -ex -eux -ux --norc --noprofile"), _words("-o -eo -euo -euxo"))
_PYTHON_OPTIONS = _BeforeScript(_words("-I -B -b -E -s -S -u -v -O -OO -q -P"), _words("-W -X"))
_NODE_OPTIONS = _BeforeScript(_words("--enable-source-maps --no-warnings --trace-uncaught --trace-warnings"))
_INTERPRETERS: tuple[tuple[str, _BeforeScript], ...] = (
    (r"(ba|da|z|k)?sh", _SHELL_OPTIONS),
    (r"(python|pypy)[\d.]*", _PYTHON_OPTIONS),
    (r"node(js)?", _NODE_OPTIONS),
    (r"ruby|perl|php", _BeforeScript(_words("-w"))),
)
"""Pairs of a pattern for the interpreter's name and its allowed options."""
_MAKE = _words(
    """-n --just-print --dry-run --recon -f --file --makefile -o --old-file --assume-old -t --touch
    -q --question -i --ignore-errors -W --what-if --new-file --assume-new --eval -I --include-dir -p -h -v -E"""
)
_PYTEST = _words(
    """-c --config-file --rootdir -p -k -m --deselect --ignore --ignore-glob --co --confcutdir -o --override-ini
    --lf --last-failed --sw --stepwise --noconftest --setup-only --setup-plan --pyargs -h -V"""
)
_MANAGER = _words("--ignore-scripts --script-shell -h -n")
_DIVERTS: dict[str, frozenset[str]] = {
    "make": _MAKE,
    "gmake": _MAKE,
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": _words("-k -s -p -t --start-directory --pattern --top-level-directory -h"),
    "npm": _MANAGER,
    "pnpm": _MANAGER,
    "yarn": _MANAGER,
    "bun": _MANAGER | _words("-t --test-name-pattern"),
    "node": _words("-c --check -h --test-name-pattern --test-skip-pattern"),
    "jest": _words("-t --testNamePattern --testPathIgnorePatterns -c --config --rootDir -o --onlyChanged -h"),
    "vitest": _words("-t --testNamePattern --exclude -c --config -r --root --changed -h list"),
    "mocha": _words("-g --grep -f --fgrep -i --invert --config --exclude --ignore --dry-run -h"),
    "cargo": _words("--manifest-path --exclude --config -Z -h -C"),
    "go": _words("-run -skip -c -list -exec -n -C -overlay -modfile -toolexec -vettool -h"),
    "ruff": _words(
        """--config -e --exclude --extend-exclude --ignore --extend-ignore --select --per-file-ignores --add-noqa
        --extend-per-file-ignores --show-files --show-settings --isolated --stdin-filename -h"""
    ),
    "mypy": _words("--config-file --exclude --disable-error-code --ignore-errors --follow-imports -h -V"),
    "pyright": _words("-p --project -h"),
    "basedpyright": _words("-p --project -h"),
    "flake8": _words("--config --exclude --extend-exclude --ignore --extend-ignore --isolated -h"),
    "eslint": _words("-c --config --ignore-pattern --ignore-path --no-eslintrc --quiet --rule --print-config -h"),
    "tsc": _words("-p --project --noCheck --showConfig --listFilesOnly --init -h -v"),
    "tox": _words("-c --conf --notest -n --root --workdir -l -h"),
    "nox": _words("-f --noxfile -l --no-run -h"),
}
"""Programs (including Python modules), with options that select less, use another configuration, or run nothing."""
_CLUSTERS_END = "rnWj"
"""Letters of short options that may be joined to a value: letters after them are not options (`-rfE`, `-n4`)."""
_ONE_DASH = ("go", "tsc")
"""Programs whose long options begin with one dash, so short options cannot be joined."""
_TAKES_ASSIGNMENTS = ("make", "gmake")
"""Programs with which an argument `NAME=value` overrides a variable of the build file."""
_OTHER_FOLDER = ("-C", "--chdir", "--directory", "--project", "--cwd", "--dir")
"""Options of launchers that change the folder in which a program runs."""
_CHANGES_FOLDER = ("cd", "pushd", "popd")


class _Launcher(msgspec.Struct, frozen=True):
    """Options that may be between a launcher and its program. After any other option, the program is unknown."""

    flags: frozenset[str] = frozenset()
    """Options without a value."""
    valued: frozenset[str] = frozenset()
    """Options with a value, in the next word or after `=`."""
    skip: int = 0
    """Number of words between the options and the program, such as the duration of `timeout`."""
    assigns: bool = False
    """Whether `NAME=value` may precede the program."""


def _launcher(flags: str = "", valued: str = "", skip: int = 0, *, assigns: bool = False) -> _Launcher:
    return _Launcher(_words(flags), _words(valued), skip, assigns)


_LAUNCHERS: dict[tuple[str, ...], _Launcher] = {
    ("timeout",): _launcher("-v --verbose --foreground", "-k -s --kill-after --signal", 1),
    ("time",): _launcher("-p"),
    ("nice",): _launcher("", "-n --adjustment"),
    ("ionice",): _launcher("-t", "-c -n --class --classdata"),
    ("stdbuf",): _launcher("", "-i -o -e --input --output --error"),
    ("env",): _launcher(assigns=True),
    ("nohup",): _launcher(),
    ("command",): _launcher("-p"),
    ("exec",): _launcher(),
    ("chronic",): _launcher(),
    ("unbuffer",): _launcher(),
    ("xvfb-run",): _launcher("-a --auto-servernum", "-s --server-args"),
    ("uv", "run"): _launcher(
        "-q --quiet -v --frozen --locked --no-sync --offline --isolated --all-extras --all-groups --dev --no-dev",
        "--with --extra --group -p --python --project --directory --package --with-requirements",
    ),
    ("uvx",): _launcher("-q --quiet --isolated --offline", "--with -p --python"),
    ("poetry", "run"): _launcher(),
    ("pipenv", "run"): _launcher(),
    ("pdm", "run"): _launcher(),
    ("hatch", "run"): _launcher(),
    ("rye", "run"): _launcher(),
    ("pixi", "run"): _launcher(),
    ("bundle", "exec"): _launcher(),
    ("mise", "exec"): _launcher(),
    ("direnv", "exec"): _launcher("", "", 1),
    ("npx",): _launcher("-y --yes --no --no-install"),
    ("bunx",): _launcher(),
    ("npm", "exec"): _launcher("-y --yes --no"),
    ("pnpm", "exec"): _launcher(),
    ("pnpm", "dlx"): _launcher(),
    ("yarn", "exec"): _launcher(),
    ("yarn", "dlx"): _launcher(),
    ("coverage", "run"): _launcher("--branch -a --append -p --parallel-mode", "--source --rcfile --data-file --omit"),
}
"""Launchers by the first words of the command."""
_MODULE_FLAGS = _words("-I -B -b -E -s -S -u -v -O -OO -q -P")
_MODULE_VALUED = _words("-W -X")
"""Options of Python that may precede `-m` or the script."""
_NO_WORK_OPTIONS = _words(
    """--help --version --collect-only --collectonly --co --fixtures --markers --setup-plan --dry-run --just-print
    --recon --list-tests --listTests --list --if-present --exit-zero --print-config --showconfig --no-run
    --passWithNoTests"""
)
"""Options with which a program only prints something, or exits with 0 whatever it finds."""
_NO_WORK_ALONE = _words("-h -V -v -n help version")
"""Arguments with the same effect if there is no other argument."""


def has_run(wanted: SimpleCommand, line: str, root: Path, *, alone: bool = False) -> bool:
    """Return whether a command of the line has the program and arguments of `wanted`, and certainly exited with 0.

    The line as a whole must have exited with 0. `alone`: no other command of the line may have changed a file.
    """
    commands = simple_commands(line)
    matching = _matching(wanted, commands, root, _DEEPEST)
    if not alone:
        return bool(matching)
    return bool(matching) and all(one in matching or one.words[0] in _QUIET for one in commands)


def part_that_ran(wanted: SimpleCommand, line: str, root: Path) -> str | None:
    """Return the command of the line because of which `has_run` is true.

    Returns None if its words are not known before it runs. `line`: one for which it is true.
    """
    found = _matching(wanted, simple_commands(line), root, _DEEPEST)
    known = [one for one in found if not any(UNKNOWN in word for word in (*one.given, *one.words))]
    if not known:
        return None
    given = [f"{name}={shlex.quote(value)}" for name, _, value in (one.partition("=") for one in known[-1].given)]
    return " ".join([*given, shlex.join(known[-1].words)])


def _matching(wanted: SimpleCommand, commands: Sequence[SimpleCommand], root: Path, depth: int) -> list[SimpleCommand]:
    """Return the commands that match `wanted`, in the folder of the workspace and with the variables of the run."""
    if any(_leaves_workspace(one.words, root) for one in commands):
        return []
    return [one for one in commands if one.is_sure and not one.is_with_variables and _matches(wanted, one, root, depth)]


def _leaves_workspace(words: Sequence[str], root: Path) -> bool:
    if words[0] not in _CHANGES_FOLDER:
        return False
    return len(words) != 2 or os.path.normpath(root / words[1]) != os.path.normpath(root)


def _matches(command_wanted: SimpleCommand, command: SimpleCommand, root: Path, depth: int) -> bool:
    wanted, allowed = command_wanted.words, command_wanted.given
    if any(given not in allowed for given in command.given):
        return False
    if any(word.partition("=")[0] in _OTHER_FOLDER and word not in wanted for word in command.words[1:]):
        return False
    seen = list(_unwrapped_forms(command.words, allowed))
    if any(_is_diverted(words, wanted) for words in seen):
        return False
    for words in seen:
        program = PurePosixPath(words[0]).name
        if program in _SHELLS and len(words) == 3 and words[1] in ("-c", "-ec") and UNKNOWN not in words[2]:
            inner = simple_commands(words[2]) if depth else []
            if _matching(command_wanted, inner, root, depth - 1):
                return True
        if not wanted or (_same_program(words[0], wanted[0], root) and _has_arguments(words[1:], wanted[1:])):
            return True
    return False


def _is_diverted(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the program got an option that is not in `wanted` and that diverts it."""
    program = PurePosixPath(words[0]).name
    before = next((known for pattern, known in _INTERPRETERS if re.fullmatch(pattern, program)), None)
    if before is not None and wanted and PurePosixPath(wanted[0]).name == program:
        return not _reaches_script(words[1:], wanted[1:], before)
    options, replaces = _DIVERTS.get(program, frozenset[str]()), program in _TAKES_ASSIGNMENTS
    unwanted = [word for word in words[1:] if word not in wanted]
    return any(_options_in(word, program) & options or (replaces and _is_assignment(word)) for word in unwanted)


def _is_assignment(word: str) -> bool:
    return word.partition("=")[0].isidentifier() and "=" in word


def _options_in(word: str, program: str) -> set[str]:
    """Return the options that a word can contain, including joined ones (`-xk`, `-kname`, `--keyword=name`)."""
    name = word.partition("=")[0]
    if not word.startswith("-") or word.startswith("--") or program in _ONE_DASH:
        return {name}
    ends = next((at for at, letter in enumerate(word[1:], 1) if letter in _CLUSTERS_END), len(word))
    return {name, *(f"-{letter}" for letter in word[1 : ends + 1])}


def _reaches_script(given: Sequence[str], wanted: Sequence[str], before: _BeforeScript) -> bool:
    """Return whether there are only known options between the interpreter and the wanted script or module."""
    script = next((_plain(word) for word in wanted if not word.startswith("-")), None)
    if script is None:
        return True
    others = [word for word in given if word not in wanted or _plain(word) == script]
    rest = _without_options(others, before.flags, before.valued)
    return bool(rest) and _plain(rest[0]) == script


def _unwrapped_forms(words: list[str], allowed: Sequence[str]) -> Iterator[list[str]]:
    """Yield the command as it is written, and the commands after its launchers. `allowed`: assignments of these."""
    for _ in range(_DEEPEST):
        yield words
        is_python = _PYTHON.fullmatch(PurePosixPath(words[0]).name)
        behind = _after_python(words) if is_python else _after_launcher(words, allowed)
        if not behind:
            return
        words = behind


def _after_launcher(words: list[str], allowed: Sequence[str]) -> list[str]:
    """Return the words after a launcher; empty if there is no launcher, or it has unknown options."""
    name = PurePosixPath(words[0]).name
    if name in _SHELLS and len(words) > 1 and not words[1].startswith("-"):
        return words[1:]  # a script
    length = next((n for n in (2, 1) if (name, *words[1:n]) in _LAUNCHERS and len(words) > n), 0)
    if not length:
        return []
    launcher = _LAUNCHERS[(name, *words[1:length])]
    rest = words[length:]
    if name == "coverage" and "-m" in rest:
        return _after_python(["python", *[word for word in rest if word not in launcher.flags]])
    rest = _without_options(rest, launcher.flags, launcher.valued)
    while launcher.assigns and rest and "=" in rest[0]:
        if rest[0] not in allowed:
            return []
        rest = rest[1:]
    if any(word.startswith("-") for word in rest[: launcher.skip]):
        return []
    rest = rest[launcher.skip :]
    return rest if rest and not rest[0].startswith("-") else []


def _after_python(words: list[str]) -> list[str]:
    """Return the words after Python: pytest for `python -m pytest`, check.py for `python check.py`."""
    rest = _without_options(words[1:], _MODULE_FLAGS, _MODULE_VALUED)
    if rest[:1] == ["-m"]:
        return rest[1:]
    return rest if rest and not rest[0].startswith("-") else []


def _without_options(words: list[str], flags: frozenset[str], valued: frozenset[str]) -> list[str]:
    """Return the words from the first one that is not one of these options."""
    at = 0
    while at < len(words):
        word = words[at]
        name, joined, _ = word.partition("=")
        if word == "--":
            return words[at + 1 :]
        if word in flags or (joined and name in valued) or (word[:2] in valued and len(word) > 2 and word[1] != "-"):
            at += 1
        elif word in valued:
            at += 2
        else:
            break
    return words[at:]


def _same_program(word: str, wanted: str, root: Path) -> bool:
    """Return whether the programs are the same. A path matches a bare name only if no command can write there."""
    if UNKNOWN in word:
        return False
    if word == wanted:
        return True
    if "/" in wanted or "." in wanted:
        return os.path.normpath(word) == os.path.normpath(wanted)
    path = os.path.normpath(word)
    is_elsewhere = path.startswith("/") and not any(
        path == place or path.startswith(f"{place}/") for place in (*_WRITABLE, os.path.normpath(root))
    )
    return is_elsewhere and PurePosixPath(path).name == wanted


def _has_arguments(given: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether `given` has all arguments of `wanted` in order, with only options and values before the first.

    So `npm run test` does not match `npm test`. An option that prevents the work must itself be in `wanted`.
    """
    if any(word in _NO_WORK_OPTIONS and word not in wanted for word in given):
        return False
    if len(given) == 1 and given[0] in _NO_WORK_ALONE and given[0] not in wanted:
        return False
    plain = [_plain(word) for word in given]
    first = next((_plain(word) for word in wanted if not word.startswith("-")), None)
    if first is not None:
        before = plain[: plain.index(first)] if first in plain else plain
        if any(not word.startswith("-") and not before[max(0, i - 1)].startswith("-") for i, word in enumerate(before)):
            return False
    rest = iter(plain)
    return all(any(word == _plain(one) for word in rest) for one in wanted)


def _plain(word: str) -> str:
    return os.path.normpath(word) if word and not word.startswith("-") and "://" not in word else word
