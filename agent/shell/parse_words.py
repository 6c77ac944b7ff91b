"""Find the simple commands in a line of bash, with the words that are known before it runs (tree-sitter-bash)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import msgspec

from .helper_process import HelperProcess, ParseFailed, serve_helper

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


HiddenBy = Literal["pipe", "or", "sequence", "background", "not", "condition", "loop"]
"""A pipe without `pipefail`; `|| true`; a later command in a sequence; `&`; `!`; `if` without a failure; a later round
of a loop.
"""


class SimpleCommand(msgspec.Struct, frozen=True):
    """One simple command, wherever it is: in a list, a pipeline, a loop, a substitution."""

    words: list[str]
    """Name and arguments, without quotes and without assignments before the name."""
    given: list[str] = []
    """Assignments before the name, as `NAME=value`."""
    is_sure: bool = False
    """Whether an exit code 0 of the whole line proves that this command ran and exited with 0."""
    hidden_by: HiddenBy | None = None
    """What hides the exit code of this command from that of the line. None means nothing that is certain."""
    reads: str = ""
    """The file of `< FILE`."""
    here: str = ""
    """The text of its here document or here string."""
    is_with_variables: bool = False
    """Whether a statement of the line sets or unsets variables, apart from assignments before a name."""


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
    found = list(_walk(tree.root_node, sure, hidden))
    if _sets_variables(tree.root_node):
        found = [msgspec.structs.replace(one, is_with_variables=True) for one in found]
    return msgspec.msgpack.encode(found)


def _sets_variables(root: Node) -> bool:
    todo = [root]
    while todo:
        one = todo.pop()
        todo += one.named_children
        if one.type in ("declaration_command", "unset_command"):
            return True
        if one.type == "variable_assignment" and (one.parent is None or one.parent.type != "command"):
            return True
    return False


def _walk(node: Node, sure: set[int], hidden: Mapping[int, HiddenBy]) -> Iterator[SimpleCommand]:
    if node.type == "command":
        words = [_text(child) for child in node.named_children if child.type not in ("variable_assignment", "comment")]
        given = [_assigned(child) for child in node.named_children if child.type == "variable_assignment"]
        if words:
            is_sure, by = node.start_byte in sure, hidden.get(node.start_byte)
            yield SimpleCommand(words, given, is_sure, by, _input_of(node), _here_of(node))
    for child in node.named_children:
        yield from _walk(child, sure, hidden)


def _input_of(command: Node) -> str:
    """Return the file of `< FILE` of a command, or empty if it has none."""
    outer = command.parent
    for one in outer.named_children if outer is not None and outer.type == "redirected_statement" else ():
        if one.type == "file_redirect" and any(child.type == "<" for child in one.children):
            return _text(one.named_children[-1])
    return ""


def _here_of(command: Node) -> str:
    """Return the text of `<<END` or `<<< TEXT` of a command, or empty if it has none."""
    outer = command.parent
    around = outer.named_children if outer is not None and outer.type == "redirected_statement" else []
    for one in (*command.named_children, *around):
        if one.type == "herestring_redirect":
            return _text(one.named_children[-1]) if one.named_children else ""
        if one.type == "heredoc_redirect":
            return next((_raw(child) for child in one.named_children if child.type == "heredoc_body"), "")
    return ""


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

    Only the structure of the line is read: no substitutions, and no conditions whose result a command may use.
    """

    def __init__(self, root: Node) -> None:
        self.found: dict[int, HiddenBy] = {}
        """Start offsets of these commands, in bytes, and what hides them."""
        text = _raw(root)
        self._keeps_status = "PIPESTATUS" in text
        self._pipes_fail = _sets(text, "o[ ]+pipefail")
        self._exits_on_error = _sets(text, "(?:[a-z]*e[a-z]*|o[ ]+errexit)")
        if not root.has_error:
            self._statements(root, None, None)

    def _statements(self, node: Node, by: HiddenBy | None, outer: HiddenBy | None) -> None:
        """Follow a sequence. `outer`: what hides the exit code of the shell that runs it, also after `exit 1`."""
        children = node.children
        statements = [child for child in children if child.is_named and child.type != "comment"]
        in_background = {child.id for child, after in pairwise(children) if after.type == "&"}
        decides = statements[-1] if statements else None
        is_waited_for = any(re.search(r"\bwait +[-$%\w]", _raw(one)) for one in statements)
        for statement in statements:
            here, shell = by, outer
            if statement.id in in_background:
                here = shell = by or (None if is_waited_for else "background")
            elif statement != decides and not _passes_status_on(decides) and not self._stops_at(statement):
                here = by or "sequence"
            if statement.type in (*_LOOPS, "if_statement"):
                if statement != decides and not _surely_succeeds(decides):
                    continue  # it prepares what decides
                if statement.type != "if_statement" and not self._exits_on_error and not _passes_status_on(decides):
                    here = here or "loop"
            self._node(statement, here, shell)

    def _stops_at(self, statement: Node) -> bool:
        """Return whether the shell exits if this statement fails: `set -e` spares what `!` or `&&` follows."""
        return self._exits_on_error and statement.type not in ("list", "negated_command")

    def _node(self, node: Node, by: HiddenBy | None, outer: HiddenBy | None) -> None:
        named = [child for child in node.named_children if child.type != "comment"]
        match node.type:
            case "command":
                if by is not None:
                    self.found[node.start_byte] = by
            case "redirected_statement" if named:
                self._node(named[0], by, outer)
            case "negated_command" if named:
                self._node(named[-1], "not", outer)
            case "subshell":
                self._statements(node, by, by)
            case "compound_statement" | "do_group":
                self._statements(node, by, outer)
            case "pipeline":
                is_open = not self._pipes_fail and not self._keeps_status
                for child in named:
                    here = by or ("pipe" if is_open and child != named[-1] else None)
                    self._node(child, here, here)
            case "list" if len(named) == 2:
                self._list(node, named[0], named[1], by, outer)
            case "if_statement":
                self._if(node, named, by, outer)
            case _ if node.type in _LOOPS and named:
                self._node(named[-1], by, outer)
            case _:
                pass

    def _list(self, node: Node, left: Node, right: Node, by: HiddenBy | None, outer: HiddenBy | None) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        if operator == "||" and _leaves(right):
            self._node(left, outer, outer)  # `|| exit 1`
        elif operator == "&&" and by == "loop" and _raw(right).strip() == "break":
            self._node(left, outer, outer)  # a round that passes is the last one
        else:
            self._node(left, by or ("or" if operator == "||" and _surely_succeeds(right) else None), outer)
        is_whole = node.parent is None or node.parent.type != "list"
        if operator == "&&" and self._exits_on_error and by == "sequence" and is_whole:
            by = None  # `set -e` stops at the last command of a list
        self._node(right, by, outer)

    def _if(self, node: Node, named: list[Node], by: HiddenBy | None, outer: HiddenBy | None) -> None:
        """Follow the branches, and the condition if each way ends with success although it failed."""
        alternatives = [one for one in named if one.type in ("else_clause", "elif_clause")]
        last = alternatives[-1].named_children[-1:] if alternatives else []
        is_lost = not alternatives or (bool(last) and _surely_succeeds(last[0]))
        if is_lost and named and not re.search(r"\b(?:exit|return|false)\b|[$]", _raw(node)):
            self._node(named[0], by or "condition", outer)
        for one in named[1:]:
            if one.type not in ("else_clause", "elif_clause"):
                self._node(one, by, outer)


_LOOPS = ("for_statement", "c_style_for_statement", "while_statement")
_SUCCEEDING = frozenset({"true", ":", "echo", "printf", "cat", "tail", "head", "sleep", "touch", "date", "sync"})
"""Commands that succeed wherever they stand after `||`."""


def _sets(text: str, option: str) -> bool:
    """Return whether the text turns the option of the shell on, and never off."""
    command = r"(?:^|[;&|({\n])\s*(?:set|shopt)\b[^;&|\n]*[ ]"
    on, off = (re.search(rf"{command}{sign}{option}\b", text) for sign in (r"-[a-z]*?", r"[+]\w*?"))
    return on is not None and off is None


def _leaves(node: Node) -> bool:
    """Return whether the node ends the shell or the loop with a failure: `exit 1`, `{ echo no; exit 1; }`, `exit`."""
    if node.type == "compound_statement":
        inner = [child for child in node.named_children if child.type != "comment"]
        return bool(inner) and _leaves(inner[-1])
    words = [_text(child) for child in node.named_children] if node.type == "command" else []
    return words[:1] in (["exit"], ["return"]) and "".join(words[1:]) != "0"


def _surely_succeeds(node: Node | None) -> bool:
    if node is None:
        return False
    inner = [child for child in node.named_children if child.type != "comment"]
    if node.type in ("compound_statement", "subshell", "redirected_statement") and inner:
        return _surely_succeeds(inner[0] if node.type == "redirected_statement" else inner[-1])
    words = [_text(child) for child in inner] if node.type == "command" else []
    return bool(words) and (words[0] in _SUCCEEDING or words in (["exit", "0"], ["return", "0"], ["wait"]))


def _passes_status_on(node: Node | None) -> bool:
    """Return whether the last statement may use the status of an earlier one: `exit $code`, `exit`, `test $? = 0`."""
    text = "" if node is None else _raw(node).strip()
    return re.search(r"[$][?]|^(exit|test|return|\[|\(\()[^\n]*[$]|^(exit|return)$", text) is not None


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
    serve_helper(_answer, seconds=_LONGEST)
