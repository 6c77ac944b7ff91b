"""Find the simple commands in a line of bash, with the words that are known before it runs (tree-sitter-bash)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import msgspec

from .helper_process import HelperProcess, ParseFailed, serve

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

_CHANGES_SHELL = re.compile(
    r"\.|source|eval|exec|exit|return|break|continue|logout|trap|alias|unalias|set|shopt|enable|hash|bind|read|mapfile"
    r"|readarray|getopts|coproc|complete|fc|history|suspend|kill"
)
"""Builtins after which a name may mean another program, and later commands may not run."""
DECIDES_PROGRAMS = re.compile(r"PATH|ENV|BASH_\w*|BASHOPTS|SHELLOPTS|LD_\w+|DYLD_\w+")
"""Variables that decide which program a name runs."""
_HARMLESS_SET = re.compile(r"-[eux]*o?|[+-]?x|errexit|nounset|pipefail|xtrace")
_DEEPEST = 60
_LONGEST = 1.0
"""Seconds of processor time for one text."""
_CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")
"""Characters that do not occur in scripts, and with which the scanner of the grammar crashed."""
UNKNOWN = "\0"
"""Stands for a part of a word that is unknown before the command runs: `$name`, `$(...)`."""


HiddenBy = Literal["pipe", "or", "sequence", "background"]
"""A pipe without `pipefail`; `|| true`; a later command in a sequence; `&`."""


class SimpleCommand(msgspec.Struct, frozen=True):
    """One simple command, wherever it is: in a list, a pipeline, a loop, a substitution."""

    words: list[str]
    """Name and arguments, without quotes and without assignments before the name."""
    given: list[str] = []
    """Assignments before the name, as `NAME=value`."""
    is_sure: bool = False
    """Whether an exit code 0 of the whole line proves that this command ran and exited with 0."""
    hidden_by: HiddenBy | None = None
    """What hides the exit code of this command from that of the line; None: nothing that is certain."""


def simple_commands(line: str) -> list[SimpleCommand]:
    """Return all simple commands of a command line or script in their order. Never raises.

    A separate process parses the line. If it crashes or takes too long, the list is empty.
    """
    if "\0" in line:
        return []  # a program, not a script
    try:
        return msgspec.msgpack.decode(_PARSER.ask(line), type=list[SimpleCommand])
    except ParseFailed:
        return []


def _answer(line: str) -> bytes:
    tree = _parser().parse(_CONTROL.sub(" ", line).encode("utf-8", "replace"))
    is_clean = not _CONTROL.search(line)
    sure = _Sure(tree.root_node).found if is_clean else set[int]()
    hidden = _Hidden(tree.root_node).found if is_clean else dict[int, HiddenBy]()
    return msgspec.msgpack.encode(list(_walk(tree.root_node, sure, hidden)))


def _walk(node: Node, sure: set[int], hidden: Mapping[int, HiddenBy]) -> Iterator[SimpleCommand]:
    if node.type == "command":
        words = [_text(child) for child in node.named_children if child.type not in ("variable_assignment", "comment")]
        given = [_assigned(child) for child in node.named_children if child.type == "variable_assignment"]
        if words:
            yield SimpleCommand(words, given, node.start_byte in sure, hidden.get(node.start_byte))
    for child in node.named_children:
        yield from _walk(child, sure, hidden)


class _Sure:
    """Finds the commands that certainly exited with 0 if the whole line did.

    Nothing is certain after a grammar error, a function, a loop, or a command that changes the shell.
    """

    def __init__(self, root: Node) -> None:
        self.found: set[int] = set()
        """Start offsets of these commands, in bytes."""
        self._exits_on_error = self._pipes_fail = False
        if not root.has_error:
            self._sequence(root.children, 0)

    def _sequence(self, children: list[Node], depth: int) -> None:
        """Follow a sequence whose last statement exits with 0. With `set -e`, the statements before it do too."""
        statements = [child for child in children if child.is_named and child.type != "comment"]
        in_background = {child.id for child, after in pairwise(children) if after.type == "&"}
        leading = depth == 0
        for statement in statements:
            if leading and self._take_options(statement):
                continue
            leading = False
            is_plain = statement.type in ("command", "pipeline", "redirected_statement")
            if statement.id not in in_background and (
                statement == statements[-1] or (self._exits_on_error and is_plain and depth == 0)
            ):
                self._zero(statement, depth + 1)
            if not _keeps_shell(statement):
                return

    def _take_options(self, statement: Node) -> bool:
        """Read `set -euo pipefail` at the beginning of the line. Return whether the statement is one."""
        words = [_text(child) for child in statement.named_children] if statement.type == "command" else []
        if words[:1] != ["set"] or not all(_HARMLESS_SET.fullmatch(word) for word in words[1:]):
            return False
        short = "".join(word for word in words[1:] if word.startswith("-"))
        self._exits_on_error |= "e" in short or "errexit" in words
        self._pipes_fail |= "pipefail" in words
        return True

    def _zero(self, node: Node, depth: int) -> None:
        """Follow a statement that exits with 0."""
        named = [child for child in node.named_children if child.type != "comment"]
        if depth > _DEEPEST or not named:
            return
        match node.type:
            case "command":
                self.found.add(node.start_byte)
            case "redirected_statement" if not any(map(_continues_line, named)):
                self._zero(named[0], depth + 1)
            case "list" if len(named) == 2:
                self._list(node, named[0], named[1], depth)
            case "pipeline" if not any(child.type == "negated_command" for child in named):
                for child in named if self._pipes_fail else named[-1:]:
                    self._zero(child, depth + 1)
            case "subshell" | "compound_statement":
                self._sequence(node.children, depth + 1)
            case _:
                pass

    def _list(self, node: Node, left: Node, right: Node, depth: int) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        if operator == "&&":
            self._zero(left, depth + 1)
            if _keeps_shell(left):
                self._zero(right, depth + 1)
        elif operator == "||" and _surely_fails(right):
            self._zero(left, depth + 1)


class _Hidden:
    """Finds the commands whose failure the exit code of the line does not show.

    Only the structure of the line is read: no substitutions, conditions or loops, whose result a command may use.
    """

    def __init__(self, root: Node) -> None:
        self.found: dict[int, HiddenBy] = {}
        """Start offsets of these commands, in bytes, and what hides them."""
        text = _raw(root)
        self._keeps_status = "PIPESTATUS" in text
        self._pipes_fail = re.search(r"\bset [^;&|\n]*pipefail\b", text) is not None
        self._exits_on_error = re.match(r"\s*set [^;&|\n]*(?:-[a-z]*e[a-z]*\b|errexit\b)", text) is not None
        if not root.has_error:
            self._statements(root, None)

    def _statements(self, node: Node, by: HiddenBy | None) -> None:
        children = node.children
        statements = [child for child in children if child.is_named and child.type != "comment"]
        in_background = {child.id for child, after in pairwise(children) if after.type == "&"}
        decides = statements[-1] if statements else None
        for statement in statements:
            here = by
            if statement.id in in_background:
                here = "background"
            elif statement != decides and not self._exits_on_error and not _passes_status_on(decides):
                here = here or "sequence"
            self._node(statement, here)

    def _node(self, node: Node, by: HiddenBy | None) -> None:
        named = [child for child in node.named_children if child.type != "comment"]
        match node.type:
            case "command":
                if by is not None:
                    self.found[node.start_byte] = by
            case "redirected_statement" if named:
                self._node(named[0], by)
            case "subshell" | "compound_statement":
                self._statements(node, by)
            case "pipeline":
                is_open = not self._pipes_fail and not self._keeps_status
                for child in named:
                    self._node(child, by or ("pipe" if is_open and child != named[-1] else None))
            case "list" if len(named) == 2:
                operator = next((child.type for child in node.children if not child.is_named), "")
                is_lost = operator == "||" and _surely_succeeds(named[1])
                self._node(named[0], by or ("or" if is_lost else None))
                self._node(named[1], by)
            case _:
                pass


def _surely_succeeds(node: Node | None) -> bool:
    words = [_text(child) for child in node.named_children] if node is not None and node.type == "command" else []
    return words[:1] in (["true"], [":"], ["echo"], ["printf"]) or words in (["exit"], ["exit", "0"])


def _passes_status_on(node: Node | None) -> bool:
    """Return whether the last statement may use the status of an earlier one: `exit $code`, `test $? = 0`."""
    text = "" if node is None else _raw(node)
    return re.search(r"[$][?]|^(exit|test|return|\[|\(\()[^\n]*[$]", text) is not None


def _raw(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _continues_line(node: Node) -> bool:
    """Return whether a line continues after its here document: the grammar puts that part inside the node."""
    parts = ("heredoc_start", "heredoc_body", "heredoc_end")
    return node.type == "heredoc_redirect" and any(child.type not in parts for child in node.named_children)


def _surely_fails(node: Node) -> bool:
    words = [_text(child) for child in node.named_children] if node.type == "command" else []
    return words == ["false"] or (words[:1] == ["exit"] and bool(re.fullmatch(r"[1-9]\d?", "".join(words[1:]))))


def _keeps_shell(node: Node) -> bool:
    """Return whether the shell certainly continues after this node, and names still mean the same programs."""
    todo = [node]
    while todo:
        one = todo.pop()
        todo += one.named_children
        if one.type in ("function_definition", "ERROR"):
            return False
        if one.type in ("declaration_command", "unset_command"):
            words = [_text(child) for child in one.named_children if child.type != "variable_assignment"]
            if any(word.startswith("-") or UNKNOWN in word for word in words):
                return False
        is_set = one.type == "variable_name" and (one.parent is None or "expansion" not in one.parent.type)
        if is_set and DECIDES_PROGRAMS.fullmatch(_text(one)):
            return False
        if one.type == "command" and not _is_harmless(one):
            return False
    return True


def _is_harmless(command: Node) -> bool:
    words = [_text(child) for child in command.named_children if child.type != "variable_assignment"]
    first = words[0] if words else UNKNOWN
    if UNKNOWN in first or _CHANGES_SHELL.fullmatch(first):
        return False
    if first in ("builtin", "command"):
        return not any(UNKNOWN in word or _CHANGES_SHELL.fullmatch(word) for word in words)
    return first != "printf" or not any(word.startswith("-v") for word in words)


def _assigned(node: Node) -> str:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    return f"{_text(name) if name else ''}={_text(value) if value else ''}"


def _text(node: Node) -> str:
    """Return the value of a word, with UNKNOWN for parts that are unknown. `$PWD` becomes `.`."""
    raw = (node.text or b"").decode("utf-8", "replace")
    match node.type:
        case "word" | "number" | "variable_name":
            return raw.replace("\\\n", "").replace("\\", "")
        case "raw_string":
            return raw[1:-1]
        case "string_content":
            return raw
        case "simple_expansion" | "expansion":
            return "." if raw in ("$PWD", "${PWD}") else UNKNOWN
        case "command_name" | "string" | "concatenation":
            return "".join(_text(child) for child in node.named_children)
        case _:
            return UNKNOWN


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _parser() -> Parser:
    """Return a new parser, because the scanner keeps state of a broken line, and crashed later."""
    from tree_sitter import Parser

    return Parser(_language())


_PARSER = HelperProcess(__name__)

if __name__ == "__main__":
    serve(_answer, seconds=_LONGEST)
