"""Find the files of a workspace that something starts or reads by itself, because what is already there names them.

The settings of git (all that git itself reads, with includes), variables of the environment, hooks, and the scripts
that a shell runs when it enters a folder are read, not listed in a table: `core.fsmonitor = tools/watch` makes
`tools/watch` as dangerous as `.git/config`. A doubtful word counts as a name. Programs that a named program starts are
not followed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..host.plain_files import read_plain
from ..host.program_search import find_program
from ..host.protected_names import NOT_SEARCHED, why_cautioned
from ..protocol.text.path_text import quoted_path
from ..repo.git_folders import GitFolders, find_folders
from ..repo.index_file import BadIndex, parse
from ..repo.protected_places import read_by_git
from ..repo.setting_lines import is_harmless, setting_lines
from ..repo.user_config import SAFE_ENV, SAFE_SETTINGS, settings_env

_SECONDS = 20.0
_MOST_INCLUDES = 100
_MOST_WORDS = 5_000
"""Words of one setting or script that are looked up."""
_LONGEST_WORD = 1_000
_MOST_ENTRIES = 200_000
"""Entries of the folders in which links and scripts are looked for."""
_SMALL = 200_000
"""Bytes of a script that is read; a longer one is a program of its own."""
_WORD = re.compile(r"[^\s'\"`;|&()<>{}$=,:!\\]+")
_LIKE_A_PATH = re.compile(r"/|\.\w+$")
"""Other words are names of programs, which are looked up on PATH."""
_MODULE = re.compile(r"\bpy\w*[\d.]*(?:\s+-\w+)*?\s+-\w*m[\s\"']*([\w.]+)")
_LARGEST_INDEX = 200_000_000
_VARIABLE = re.compile(r"\$\w+")
_CONSTANT = re.compile(r"true|false|yes|no|on|off|auto|always|never|[-+\d.]*", re.IGNORECASE)
_FOLDERS = ("core.hookspath", "init.templatedir")
"""Settings of which git runs each file in a folder."""
_READ = re.compile(r"include\.path|includeif\..*\.path|core\.(attributesfile|excludesfile)", re.IGNORECASE | re.DOTALL)
_INERT = re.compile(
    r"""core\.worktree|safe\.directory|maintenance\.repo|gui\.recentrepo|scalar\.repo|commit\.template|mailmap\..*
    |blame\.ignorerevsfile|format\.signaturefile|branch\..*\.description""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""Further settings that name files or folders and run nothing."""
_VARIABLES = (
    "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "LD_PRELOAD", "PROMPT_COMMAND", "EDITOR",
    "VISUAL", "PAGER", "LESSOPEN", "RIPGREP_CONFIG_PATH", "PSQLRC", "SSH_ASKPASS", "GIT_SSH_COMMAND", "GIT_SSH",
    "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_ASKPASS",
)  # fmt: skip
_SCRIPTS = (
    "a shell runs it when it enters the folder", "it can run as a hook", "it decides which programs a tool starts"
)  # fmt: skip
"""Rows of `auto_loaded_files.toml` whose files name what they start."""
_ON_PATH = re.compile(r"^.*(?:\bPATH\b|\bPATH_add\b|\b_\.path\b).*$", re.MULTILINE)
"""Lines that add folders to PATH: of a shell, of direnv (PATH_add) and of mise (_.path)."""


class SettingsUnreadable(Exception):
    """What is started by itself cannot be known; the message says why."""


@dataclass
class StartedFiles:
    """What is named, relative to the workspace, with the reason for the person."""

    root: Path
    home: str
    """The home folder of the user, for `~`."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    folders: dict[str, str] = field(default_factory=dict[str, str])
    """Folders of which each file is started."""
    excludes: list[Path] = field(default_factory=list[Path])
    """Files of the user with further patterns of what git ignores, the strongest last."""

    def add(self, place: str, why: str, *, is_folder: bool = False) -> None:
        """Add an absolute path, and where it leads with links followed, if they are in the workspace."""
        for path in (os.path.normpath(place), _real(place)):
            if path.startswith(f"{self.root}/"):
                name = path.removeprefix(f"{self.root}/")
                (self.folders if is_folder else self.files).setdefault(name, why)

    def is_inside(self, place: str) -> bool:
        """Return whether an absolute path leads into the workspace."""
        return place.startswith(f"{self.root}/") or _real(place).startswith(f"{self.root}/")

    def read_text(self, text: str, why: str, bases: Sequence[str]) -> None:
        """Add each existing file that a script names, and the folders that it adds to PATH."""
        self._read_modules(text, why, bases)
        for word in list(dict.fromkeys(_words(text)))[:_MOST_WORDS]:
            for place in self.places(word, bases):
                if self.is_inside(place) and os.path.isfile(place):  # noqa: PTH113 - also for names that are too long
                    self.add(place, why)
        for word in _words("\n".join(_ON_PATH.findall(text))):
            for place in self.places(word, bases):
                if self.is_inside(place) and os.path.normpath(place) != str(self.root):
                    self.add(place, why, is_folder=True)

    def read_value(self, key: str, value: str, why: str, bases: Sequence[str]) -> None:
        """Add each file that the value of a setting or variable names, also before it exists."""
        self._read_modules(value, why, bases)
        whole = value.strip()
        words = list(dict.fromkeys((whole, *_split(whole), *_words(whole))))[:_MOST_WORDS]
        inner = [place for word in words for place in self.places(word, bases) if self.is_inside(place)]
        inner = [place for place in inner if os.path.isdir(place)]  # noqa: PTH112 - `cd tools && ./run`
        for word in words:
            is_path = word == whole and _READ.fullmatch(key) is not None
            if not word or _CONSTANT.fullmatch(word):
                continue
            for place in filter(self.is_inside, self.places(word, (*bases, *inner))):
                if key in _FOLDERS and word == whole:
                    self.add(place, why, is_folder=True)
                elif not os.path.isdir(place) and (is_path or _LIKE_A_PATH.search(word) or os.path.lexists(place)):  # noqa: PTH112
                    self.add(place, why)

    def _read_modules(self, text: str, why: str, bases: Sequence[str]) -> None:
        """Add what `python -m tools.watch` runs, existing or not: such a module comes before an installed one."""
        for module in _MODULE.findall(text):
            path = module.replace(".", "/")
            for name in (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py"):
                for place in filter(self.is_inside, self.places(name, bases)):
                    self.add(place, why)

    def places(self, word: str, bases: Iterable[str]) -> Iterator[str]:
        """Yield where a word may lead: `$(git rev-parse --show-toplevel)/x` arrives here as `/x`."""
        if not word or "\0" in word or len(word) > _LONGEST_WORD:
            return
        word = self.expanded(word)
        if word.startswith("/"):
            yield os.path.normpath(word)
        for base in dict.fromkeys(bases):
            yield os.path.normpath(f"{base}/{word.lstrip('/')}")

    def expanded(self, path: str) -> str:
        """Return a path with the home folder in place of `~`."""
        return self.home + path[1:] if self.home and (path == "~" or path.startswith("~/")) else path


def add_settings(found: StartedFiles, top: Path, env: Mapping[str, str]) -> None:
    """Add what the settings of git name in the working tree `top` and its submodules. Raises SettingsUnreadable.

    `env`: the environment of the user's own git.
    """
    folders = git_folders(top)
    program = find_program("git", [found.root])
    inside = [] if folders is None else [str(folders.own), str(folders.common)]
    if program is None:
        _read_without_git(found, top, folders, inside, env)
        return
    where = f"--git-dir={os.devnull if folders is None else folders.own}"  # without one: only the user's own settings
    line = [str(program), where, "config"]
    _read_list(found, line, top, inside, env)
    if folders is None:
        return
    if not found.excludes:
        own = env.get("XDG_CONFIG_HOME") or f"{found.home}/.config"
        found.excludes.append(Path(own) / "git/ignore")
    found.excludes.append(folders.common / "info/exclude")
    _add_hooks(found, folders, top)
    for name in _tracked_links(program, top, folders.own, _stamp(folders.own / "index")):
        if why := why_cautioned(name.split("/")):
            _add_target(found, top / name, f"{quoted_path(name)} leads to it: {why}")
    for config in read_by_git(folders.common):
        if config.name == "config" and config.parent != folders.common and config.is_file():
            of = [*line, "--file", str(config)]
            listed = _listed(of, config.parent, env)
            tree = next((config.parent / value for _, key, value in listed if key == "core.worktree"), top)
            _read_list(found, of, Path(os.path.normpath(tree)), [str(config.parent)], env)


def git_folders(top: Path) -> GitFolders | None:
    """Return the folders of the repository at the top of a working tree, or of a repository without one.

    Returns None if there is none.
    """
    found = find_folders(top)
    for place in () if found is not None else (top / ".git", top):
        own = Path(_real(str(place)))
        if (own / "HEAD").is_file() and (own / "objects").is_dir() and (own / "refs").is_dir():
            return GitFolders(own, own)
    return found


def tracked_files(top: Path, within: Path, places: Sequence[str], root: Path) -> list[str]:
    """Return the files in the index at and below these places, all relative to `within`. Raises SettingsUnreadable.

    `within`: a folder in the working tree `top`. `root`: the workspace, in which no program is trusted.
    """
    folders, program = git_folders(top), find_program("git", [root])
    if folders is None:
        return []
    if program is None:
        return [os.path.relpath(top / name, within) for name in _index_without_git(folders.own / "index")]
    listed = _ls_files(program, top, folders.own, within, "--", *places)
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def _ls_files(program: Path, top: Path, own: Path, within: Path, *words: str) -> bytes:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {**SAFE_ENV, **settings_env(SAFE_SETTINGS), "LC_ALL": "C"}
    where = [f"--git-dir={own}", f"--work-tree={top}", "--literal-pathspecs"]
    return _run([str(program), *where, "ls-files", "-z", *words], within, env)


@lru_cache(maxsize=64)
def _tracked_links(program: Path, top: Path, own: Path, stamp: tuple[int, ...]) -> tuple[str, ...]:
    """Return the links in the index. `stamp`: the state of the index, so that only a new one is read."""
    if not stamp:
        return ()
    listed = _ls_files(program, top, own, top, "--stage").split(b"\0")
    return tuple(os.fsdecode(line.partition(b"\t")[2]) for line in listed if line.startswith(b"120000 "))


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        status = file.stat()
    except OSError:
        return ()
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def add_variables(found: StartedFiles, env: Mapping[str, str]) -> None:
    """Add what variables of the environment name that programs start or load by themselves."""
    for name in _VARIABLES:
        if value := env.get(name):
            found.read_value(name, value, f"your environment names it ({name})", [str(found.root)])


def add_programs(found: StartedFiles, places: Iterable[Path]) -> None:
    """Add folders whose programs run outside of the sandbox, and where the links in them lead."""
    for place in places:
        found.add(str(place), "programs in this folder run outside of the sandbox", is_folder=True)
        for name in _entries(place):
            _add_target(found, place / name, f"{quoted_path(name)}, which runs outside of the sandbox, leads to it")


def add_links_and_scripts(found: StartedFiles, names: Mapping[str, Iterable[str]]) -> None:
    """Add where the links lead that programs load by their names, and what scripts there start.

    `names`: the entries of folders of the workspace; the auto-loaded folders among them are searched. Raises
    SettingsUnreadable if there are too many.
    """
    left = _MOST_ENTRIES
    for folder in names:
        parts = folder.split("/") if folder else []
        if not NOT_SEARCHED.isdisjoint(parts) or why_cautioned(parts) is not None:  # the second is searched from above
            continue
        inner = [(f"{folder}/{name}".lstrip("/"), why_cautioned([*parts, name])) for name in names[folder]]
        waiting = [(path, why) for path, why in inner if why is not None]
        while waiting:
            path, why = waiting.pop()
            place = found.root / path
            if place.is_symlink() or not place.is_dir():
                _add_file(found, place, path, why)
                continue
            inner = [(f"{path}/{name}", why_cautioned([*path.split("/"), name])) for name in _entries(place)]
            waiting += [(inside, reason) for inside, reason in inner if reason is not None]
            left -= len(inner)
            if left < 0:
                raise SettingsUnreadable(f"{quoted_path(path)} has too many files")


def _read_list(
    found: StartedFiles, line: Sequence[str], top: Path, inside: Sequence[str], env: Mapping[str, str]
) -> None:
    waiting, seen = [tuple(line)], set[tuple[str, ...]]()
    while waiting:
        argv = waiting.pop()
        if argv in seen:
            continue
        seen.add(argv)
        if len(seen) > _MOST_INCLUDES:
            raise SettingsUnreadable(f"git's settings include more than {_MOST_INCLUDES} files")
        for origin, key, value in _listed(argv, top, env):
            included = _read_setting(found, origin, key, value, top, inside)
            if included is not None and found.is_inside(str(included)):
                waiting.append((*line[: line.index("config") + 1], "--file", str(included)))


def _read_setting(
    found: StartedFiles, origin: Path | None, key: str, value: str, top: Path, inside: Sequence[str]
) -> Path | None:
    """Add what a setting names. Return the file that it includes. `origin`: the file that has it."""
    at = top if origin is None else origin.parent
    if origin is not None:
        found.add(str(origin), "git reads it as settings")
    if key == "core.excludesfile":
        found.excludes.append(Path(os.path.normpath(top / found.expanded(value))))
    if is_harmless(key, value) or _INERT.fullmatch(key):
        return None
    does = "reads it as settings" if _READ.fullmatch(key) else "runs it by itself"
    found.read_value(key, value, f"git {does} ({quoted_path(key)})", [str(top), *inside, str(at)])
    if not (key.startswith("include") and key.endswith(".path")):
        return None
    included = os.path.normpath(at / found.expanded(value))
    return Path(included) if os.path.isfile(included) else None  # noqa: PTH113 - also for a name that is too long


def _read_without_git(
    found: StartedFiles, top: Path, folders: GitFolders | None, inside: Sequence[str], env: Mapping[str, str]
) -> None:
    """Add what config files name where git is not installed, as the user may start it elsewhere, in doubt too much."""
    own = Path(env.get("XDG_CONFIG_HOME") or f"{found.home}/.config")
    waiting = [Path("/etc/gitconfig"), own / "git/config", Path(found.home) / ".gitconfig"]
    if folders is not None:
        waiting += [folders.own / "config.worktree", folders.common / "config", folders.own / "config"]
        found.excludes += [own / "git/ignore", folders.common / "info/exclude"]
        _add_hooks(found, folders, top)
    seen = set[Path]()
    while waiting and len(seen) < _MOST_INCLUDES:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        key = ""
        for name, line in setting_lines(_text(file)):
            key = name.lower() if name is not None else key
            value = (line.partition("=")[2] if name is not None else line).strip().strip('"')
            included = _read_setting(found, file, key, value, top, inside)
            waiting += [included] if included is not None else []


def _index_without_git(index: Path) -> list[str]:
    """Return the paths in an index. Raises SettingsUnreadable."""
    try:
        data = read_plain(index, _LARGEST_INDEX)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SettingsUnreadable(f"the index of git: {error.strerror}") from None
    for width in (20, 32):
        with suppress(BadIndex):
            return [os.fsdecode(entry.path) for entry in parse(data, width)]
    raise SettingsUnreadable("git is not installed, and its index cannot be read without it")


def _listed(argv: Sequence[str], top: Path, env: Mapping[str, str]) -> Iterator[tuple[Path | None, str, str]]:
    """Yield the settings that `git config` lists: the file that has it, the key, the value."""
    clean = {name: value for name, value in env.items() if not name.startswith("GIT_") or name.startswith("GIT_CONFIG")}
    fields = _run([*argv, "--list", "-z", "--show-origin", "--includes"], top, {**clean, "LC_ALL": "C"}).split(b"\0")
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition(b"\n")
        kind, _, name = os.fsdecode(origin).partition(":")
        yield Path(os.path.normpath(top / name)) if kind == "file" else None, os.fsdecode(key), os.fsdecode(value)


def _run(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> bytes:
    try:
        done = subprocess.run(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingsUnreadable(f"git: {error}") from error
    if done.returncode:
        message = " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("fatal: ")
        raise SettingsUnreadable(message or f"git ended with exit code {done.returncode}")
    return done.stdout


def _add_hooks(found: StartedFiles, folders: GitFolders, top: Path) -> None:
    named = [found.root / name for name, why in found.folders.items() if "core.hookspath" in why]
    for folder in (folders.common / "hooks", *named):
        _add_target(found, folder, "git runs the hooks in it")
        for name in _entries(folder):
            if not name.endswith(".sample"):
                _add_file(found, folder / name, name, "git runs it as a hook", top)


def _add_file(found: StartedFiles, place: Path, path: str, why: str, top: Path | None = None) -> None:
    shown = quoted_path(path)
    _add_target(found, place, f"{shown} leads to it: {why}")
    if why in _SCRIPTS or top is not None:
        found.read_text(_text(place), f"{shown} names it: {why}", [str(top or found.root), str(place.parent)])


def _add_target(found: StartedFiles, place: Path, why: str) -> None:
    if place.is_symlink():
        found.add(str(place.parent / place.readlink()), why, is_folder=place.is_dir())


def _text(place: Path) -> str:
    try:
        data = read_plain(place, _SMALL)
    except OSError:
        return ""
    return "" if b"\0" in data else os.fsdecode(data)


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []


def _real(place: str) -> str:
    try:
        return os.path.realpath(place)
    except OSError:
        return place


def _words(text: str) -> list[str]:
    """Return what may be a path: `$PWD/x` gives `/x`."""
    return _WORD.findall(_VARIABLE.sub("", text))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text.removeprefix("!"))
    except ValueError:
        return []
