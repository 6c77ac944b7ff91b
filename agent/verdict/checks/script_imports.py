"""Find what a script imports from the workspace without running it: Python, JavaScript, TypeScript, Ruby, PHP."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from ...host.plain_files import read_plain

_LARGEST = 1_000_000
_PYTHON = (".py", ".pyw")
_SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_ENDINGS = ("", *_SCRIPTS, ".json", "/index.js", "/index.mjs", "/index.cjs", "/index.ts", "/index.tsx")
_JS = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'`]([^"'`\n]+)["'`]""")
_EXTENDS = re.compile(
    r"""["']?(?:extends?|preset|setupFiles\w*|globalSetup|plugins?)["']?\s*[:=]\s*\[?\s*["'](\.{1,2}/[^"'\n]+)["']"""
)
_RUBY = re.compile(r"""\brequire_relative\s*\(?\s*["']([^"'\n]+)["']""")
_PHP = re.compile(r"""\b(?:require|include)(?:_once)?\s*\(?\s*__DIR__\s*\.\s*["']/?([^"'\n]+)["']""")
_MAKE = re.compile(r"^-?s?include\s+(.+)$", re.MULTILINE)
_QUOTED = re.compile(r"""["'`]([\w@.][\w@./ -]{0,80})["'`]""")
_WORD = re.compile(r"[\w@./-]+")


class Imports(msgspec.Struct):
    """The imports and other references of one file."""

    files: list[str] = msgspec.field(default_factory=list[str])
    """Candidates relative to the workspace, in order of precedence, including files that do not exist."""
    words: list[str] = msgspec.field(default_factory=list[str])
    """String literals that may name a program or a file."""
    instead: dict[str, list[str]] = msgspec.field(default_factory=dict[str, list[str]])
    """Maps a file of `files` to the paths that would replace it, and globs, which begin with a slash."""
    roots: list[str] = msgspec.field(default_factory=list[str])
    """Folders that the file adds to Python's import path."""


def imports_of(path: str, root: Path, roots: list[str]) -> Imports:
    """Return a file's imports, relative to the workspace. `roots`: Python's import path. Ignores unreadable files."""
    text = script_text(root / path)
    if text is None:
        return Imports()
    folder = str(PurePosixPath(path).parent)
    if path.endswith(_PYTHON) or _shebang(text, "python"):
        return _python(text, folder, root, roots)
    words = [match[1] for match in _QUOTED.finditer(text)]
    if path.endswith(_SCRIPTS) or _shebang(text, "node") or _shebang(text, "deno") or _shebang(text, "bun"):
        return _javascript(text, folder, root, words)
    if path.endswith((".json", ".jsonc", ".toml", ".yml", ".yaml", ".ini", ".cfg")) or "rc" in path.rpartition("/")[2]:
        named = [match[1] for match in _EXTENDS.finditer(text)]
        return Imports(files=[p for name in named for p in _resolved(name, folder, root)], words=_words(text))
    if path.endswith(".rb") or _shebang(text, "ruby"):
        return Imports(
            files=[_join(folder, f"{m[1].removesuffix('.rb')}.rb") for m in _RUBY.finditer(text)], words=words
        )
    if path.endswith(".php"):
        return Imports(files=[_join(folder, m[1]) for m in _PHP.finditer(text)], words=words)
    if PurePosixPath(path).name.casefold() in ("makefile", "gnumakefile") or path.endswith((".mk", ".make")):
        named = [name for m in _MAKE.finditer(text) for name in m[1].split() if "$" not in name]
        return Imports(files=[_join(folder, name) for name in named], words=_words(text))
    return Imports(words=_words(text))


def script_text(path: Path) -> str | None:
    """Return the text of a regular file of at most 1 MB; None if there is none."""
    try:
        return read_plain(path, _LARGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _shebang(text: str, program: str) -> bool:
    first = text[:200].partition("\n")[0]
    return first.startswith("#!") and program in first


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:200_000])


def _join(folder: str, name: str) -> str:
    parts: list[str] = []
    for part in PurePosixPath(folder, name).parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)


def _python(text: str, folder: str, root: Path, roots: list[str]) -> Imports:
    found = Imports()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    names: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names += [(alias.name, 0) for alias in aliases]
            case ast.ImportFrom(module=module, names=aliases, level=level):
                names += [(f"{module}.{alias.name}" if module else alias.name, level) for alias in aliases]
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="path"), attr="insert" | "append"), args=args):
                # a relative entry is in the check's working folder; one built from __file__ is in the script's folder
                found.roots += [_join(base, text) for arg in args for text in _texts(arg) for base in (folder, ".")]
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="__import__"), args=[first, *_]):
                names += [(name, 0) for name in _texts(first)]
            case ast.Assign(targets=[ast.Name(id="pytest_plugins")], value=value):
                names += [(name, 0) for name in _texts(value)]
            case ast.Constant(value=str() as word) if len(word) < 200:
                found.words.append(word)
            case _:
                pass
    for name, level in names:
        _resolve_module(name, level, folder, root, [*roots, *found.roots], found)
    return found


def _texts(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def _resolve_module(name: str, level: int, folder: str, root: Path, roots: list[str], found: Imports) -> None:
    """Add the files of the workspace that an import of this module executes."""
    parts = [part for part in name.split(".") if part and part != "*"]
    if level:
        base = PurePosixPath(folder, *[".."] * (level - 1))
        places = [str(base)]
    else:
        places = roots or [folder]
    for place in places:
        files = _module_files(_join(place, "."), parts, root)
        if files:
            found.files += files
            found.instead.update((file, _instead(file)) for file in files)
            return


def _module_files(place: str, parts: list[str], root: Path) -> list[str]:
    """Return the files of the module and of its parent packages; empty if the module does not exist."""
    files: list[str] = []
    here = place
    for part in parts:
        here = _join(here, part)
        package = f"{here}/__init__.py"
        if (root / package).is_file():
            files.append(package)
        elif (root / f"{here}.py").is_file():
            files.append(f"{here}.py")
            break
        elif not (root / here).is_dir():
            break
    return files


def _instead(file: str) -> list[str]:
    """Return what Python would load instead of this module: a package with its name, then an extension module."""
    base = file.removesuffix(".py")
    names = [] if base.endswith("/__init__") else [f"{base}/__init__.{ending}" for ending in ("py", "pyc")]
    globs = [f"/{base}.so", f"/{base}.*.so"]
    return [*names, *globs] if base.endswith("/__init__") else [*names, *globs, f"/{base}/__init__.*so"]


def _javascript(text: str, folder: str, root: Path, words: list[str]) -> Imports:
    found = Imports(words=words)
    for match in [*_JS.finditer(text), *_EXTENDS.finditer(text)]:
        name = match[1]
        if name.startswith("."):
            found.files += _resolved(name, folder, root)
    return found


def _resolved(name: str, folder: str, root: Path) -> list[str]:
    """Return the file of a relative import, after the files that would replace it."""
    base = _join(folder, name)
    candidates: list[str] = []
    for ending in _ENDINGS:
        candidates.append(f"{base}{ending}")
        if (root / candidates[-1]).is_file():
            return candidates
    return [base]
