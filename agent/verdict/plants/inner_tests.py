"""Keep the tests inside a source as they were at the start: `#[cfg(test)]`, `unittest`, examples in docstrings.

A source is the code under test and may change; the tests in it are not. The view of a judge has the new text with the
old tests in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple


class _Region(NamedTuple):
    """One test in a text."""

    key: str
    """What the same test has in both texts: its name, the head of its block, what an example documents."""
    start: int
    end: int
    is_top: bool = True
    """It can also stand at the end of the file."""
    is_example: bool = False
    """An example in the documentation of something: it cannot stand elsewhere, and new ones may stay."""


def may_have_tests(path: str) -> bool:
    """Return whether sources like this one can have tests inside."""
    return PurePosixPath(path).suffix.casefold() in _FINDERS


def with_old_tests(path: str, old: str | None, new: str, *, doctests: bool = False) -> str | None:
    """Return the new text of a source with the tests that the old one had inside.

    Returns None if one of them has no place there. `old` is None if the file did not exist. `doctests`: the check runs
    the examples in Python's docstrings.
    """
    find = _FINDERS.get(PurePosixPath(path).suffix.casefold())
    if find is None or old is None or (find is _python and not doctests):
        return new
    before, after = find(old), find(new)
    if before is None or after is None:
        return None if before is None or before else new
    wanted = dict(_numbered(before))
    parts: list[str] = []
    at = 0
    for name, region in _numbered(after):
        kept = wanted.pop(name, None)
        if kept is None and region.is_example:
            continue
        parts += [new[at : region.start], "" if kept is None else old[kept.start : kept.end]]
        at = region.end
    parts.append(new[at:])
    if any(not region.is_top for region in wanted.values()):
        return None
    for region in wanted.values():
        parts.append(f"\n{old[region.start : region.end]}\n")
    return "".join(parts)


def _numbered(regions: Sequence[_Region]) -> Iterator[tuple[tuple[str, int], _Region]]:
    """Yield each region with its key and its number among those with the same key."""
    seen = dict[str, int]()
    for region in regions:
        seen[region.key] = number = seen.get(region.key, 0) + 1
        yield (region.key, number), region


_STRING = r'"(?:\\.|[^"\\])*"'
_LINE_COMMENT, _COMMENT = r"//[^\n]*", r"/\*.*?\*/"
_RUST_HIDDEN = re.compile(
    rf"{_LINE_COMMENT}|{_COMMENT}|b?r(?P<hashes>#*)\".*?\"(?P=hashes)|b?{_STRING}|b?'(?:\\[^\n']+|[^\\'\n])'", re.DOTALL
)
_ZIG_HIDDEN = re.compile(rf"{_LINE_COMMENT}|\\\\[^\n]*|{_STRING}|'(?:\\[^\n']+|[^\\'\n])'", re.DOTALL)
_D_HIDDEN = re.compile(
    rf"{_LINE_COMMENT}|{_COMMENT}|/\+.*?\+/|r\"[^\"]*\"|`[^`]*`|{_STRING}|'(?:\\[^\n']+|[^\\'\n])'", re.DOTALL
)
_JS_HIDDEN = re.compile(
    rf"{_LINE_COMMENT}|{_COMMENT}|`(?:\\.|[^`\\])*`|{_STRING}|'(?:\\.|[^'\\\n])*'"
    r"|(?<=[=(,:;!&|?{}\[])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*",
    re.DOTALL,
)


def _hidden(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text with strings and comments replaced by spaces, so that each sign keeps its place."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _blocks(
    text: str, code: str, head: re.Pattern[str], name: Callable[[str], str] | None = None
) -> list[_Region] | None:
    """Return the blocks that begin with such a head, up to their closing brace or a semicolon before it.

    Returns None if a block does not end.
    """
    found: list[_Region] = []
    at = 0
    while match := head.search(code, at):
        end = _end_of(code, match.end())
        if end is None:
            return None
        opening = code.find("{", match.start(), end)
        key = " ".join(text[match.start() : end if opening < 0 else opening].split())
        found.append(_Region(name(key) if name else key, match.start(), end, _depth(code, match.start()) == 0))
        at = end
    return found


def _end_of(code: str, at: int) -> int | None:
    """Return the end of an item: after the brace that closes its block, or after a semicolon before any block."""
    depth = 0
    if code[at - 1] == "{":
        depth = 1
    for index in range(at, len(code)):
        sign = code[index]
        if sign in "{([":
            depth += 1
        elif sign in "})]":
            depth -= 1
            if depth == 0 and sign == "}":
                return index + 1
            if depth < 0:
                return None
        elif sign == ";" and depth == 0:
            return index + 1
    return None


def _depth(code: str, at: int) -> int:
    return code.count("{", 0, at) - code.count("}", 0, at)


_RUST_TEST = re.compile(
    r"^[ \t]*#\[\s*(?:cfg\s*\((?![^\]]*\bnot\s*\(\s*test)(?:[^\[\]]*[(,\s])?test\s*[,)][^\[\]]*"
    r"|(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest)\b[^\[\]]*)\s*\]"
    r"(?:\s*#\[[^\]]*\])*",
    re.MULTILINE,
)
_RUST_ITEM = re.compile(r"\b(?:fn|struct|enum|union|trait|mod|macro_rules!|type|const|static|impl|use)\b[^\n{(;=]*")
_RUST_DOC = re.compile(r"(?:^[ \t]*//[/!][^\n]*\n)+", re.MULTILINE)


def _rust(text: str) -> list[_Region] | None:
    code = _hidden(text, _RUST_HIDDEN)
    blocks = _blocks(text, code, _RUST_TEST)
    if blocks is None:
        return None
    docs: list[_Region] = []
    for match in _RUST_DOC.finditer(text):
        if "```" not in match[0] or any(block.start <= match.start() < block.end for block in blocks):
            continue
        item = _RUST_ITEM.search(code, match.end())
        is_module = match[0].lstrip().startswith("//!")
        key = "module" if is_module else " ".join(item[0].split()) if item else ""
        docs.append(_Region(f"doc of {key}", match.start(), match.end(), is_top=False, is_example=True))
    return sorted([*blocks, *docs], key=lambda region: region.start)


_ZIG_TEST = re.compile(r"""^[ \t]*test\b(?:\s+[\w.@"]+)?[^{};=]*\{""", re.MULTILINE)


def _zig(text: str) -> list[_Region] | None:
    return _blocks(text, _hidden(text, _ZIG_HIDDEN), _ZIG_TEST)


_D_TEST = re.compile(
    r"^[ \t]*(?:(?:@\w+(?:\([^)]*\))?|pure|nothrow|private|public|static|version\s*\(\s*unittest\s*\))\s+)*"
    r"(?:unittest|(?:version|debug)\s*\(\s*unittest\s*\))\s*\{",
    re.MULTILINE,
)


def _d(text: str) -> list[_Region] | None:
    return _blocks(text, _hidden(text, _D_HIDDEN), _D_TEST)


_VITEST = re.compile(r"^[ \t]*if\s*\(\s*import\.meta\.vitest[^{]*\{", re.MULTILINE)


def _vitest(text: str) -> list[_Region] | None:
    if "import.meta.vitest" not in text:
        return []
    return _blocks(text, _hidden(text, _JS_HIDDEN), _VITEST)


_C_TEST = re.compile(
    r"^[ \t]*#[ \t]*if(?:def)?\b[^\n!]*\b(?:\w+_)?(?:UNIT_?|SELF_?)?TEST(?:S|ING)?(?:_\w+)?\b[^\n]*$", re.MULTILINE
)
_C_LINE = re.compile(r"^[ \t]*#[ \t]*(if\w*|endif)\b[^\n]*$", re.MULTILINE)


def _c(text: str) -> list[_Region] | None:
    """Find what a compiler sees only for tests: `#ifdef TEST` to its `#endif`."""
    found: list[_Region] = []
    at = 0
    while match := _C_TEST.search(text, at):
        depth = 0
        for line in _C_LINE.finditer(text, match.start()):
            depth += -1 if line[1] == "endif" else 1
            if depth == 0:
                found.append(_Region(" ".join(match[0].split()), match.start(), line.end()))
                at = line.end()
                break
        else:
            return None
    return found


_ELIXIR_DOC = re.compile(r'^[ \t]*@(?P<of>module)?doc\s+(?:~[sS])?"""\n.*?^[ \t]*"""', re.MULTILINE | re.DOTALL)
_ELIXIR_ITEM = re.compile(r"^[ \t]*(?:def|defmacro|defdelegate|defguard)\w*\s+[\w?!.]+", re.MULTILINE)


def _elixir(text: str) -> list[_Region]:
    found: list[_Region] = []
    for match in _ELIXIR_DOC.finditer(text):
        if "iex>" not in match[0]:
            continue
        if match["of"]:
            modules = re.findall(r"\bdefmodule\s+([\w.]+)", text[: match.start()])
            key = f"module {modules[-1] if modules else ''}"
        else:
            item = _ELIXIR_ITEM.search(text, match.end())
            key = " ".join(item[0].split()) if item else ""
        found.append(_Region(f"doc of {key}", match.start(), match.end(), is_top=False, is_example=True))
    return found


def _python(text: str) -> list[_Region] | None:
    """Find the docstrings that have examples."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    found: list[_Region] = []
    for name, node in _documented(module, ""):
        match node.body[:1]:
            case [ast.Expr(value=ast.Constant(value=str() as words) as docstring)] if ">>>" in words:
                start, end = (
                    _offset(text, lines, docstring.lineno, docstring.col_offset),
                    _offset(text, lines, docstring.end_lineno or 0, docstring.end_col_offset or 0),
                )
                found.append(_Region(f"doc of {name}", start, end, is_top=False, is_example=True))
            case _:
                pass
    return sorted(found, key=lambda region: region.start)


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _documented(node: ast.AST, name: str) -> Iterator[tuple[str, _Documented]]:
    """Yield the module and all its classes and functions, with their qualified names."""
    waiting: list[tuple[ast.AST, str]] = [(node, name)]
    while waiting:
        one, outer = waiting.pop()
        if isinstance(one, _Documented):
            own = getattr(one, "name", "")
            outer = f"{outer}.{own}" if outer else own
            yield outer, one
        waiting += [(child, outer) for child in ast.iter_child_nodes(one)]


def _offset(text: str, lines: Sequence[int], line: int, column: int) -> int:
    """Return the index in the text of a column, which `ast` counts in bytes of UTF-8."""
    start = lines[line - 1]
    row = text[start : lines[line]] if line < len(lines) else text[start:]
    return start + len(row.encode()[:column].decode("utf-8", "ignore"))


_FINDERS: dict[str, Callable[[str], list[_Region] | None]] = {
    ".rs": _rust,
    ".zig": _zig,
    ".d": _d,
    ".ex": _elixir,
    ".py": _python,
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"), _vitest),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh"), _c),
}
