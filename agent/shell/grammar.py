"""Parse a command line with bash's grammar into the plain commands that it would run. `line_parser` calls it.

Everything that is not understood for certain (expansions, control flow, here documents, background jobs, invisible
characters) is recorded as a doubt, and a line with a doubt asks the user. Commands in such parts are collected too, so
that `deny` rules still apply to them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from .command_line import ParsedLine, PlainCommand, Word
from .helper_process import encoded, serve_helper

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

_LONGEST = 8_000
"""Maximum number of characters of a command line that is parsed."""
_DEEPEST = 60
LONGEST_READING = 1.0
"""Seconds of processor time. The grammar is very slow for some lines: 3,000 characters took 100 s."""
_GLUE = frozenset({"&&", "||", ";", "|", "|&", "(", ")", "{", "}", "!", "\n"})
_JOINING = frozenset({"program", "list", "pipeline", "subshell", "compound_statement", "negated_command"})
HIDDEN = "it has an invisible character"
"""Start of the doubt about an invisible character. In the parsed words, a `?` replaces each one."""
_PLAIN = re.compile(r"[\w./:=@%+,^#*?\[\]!-]+")
_SPECIAL = {
    "process_substitution": "it passes a command's output as a file",
    "arithmetic_expansion": "it has an arithmetic expansion, which can run commands",
    "expansion": "it uses ${...}",
    "ansi_c_string": "it has escaped characters in $'...'",
    "heredoc_redirect": "it has a here document",
    "herestring_redirect": "it has a here string",
    "function_definition": "it defines a function",
    "declaration_command": "it changes shell variables",
    "unset_command": "it changes shell variables",
    "variable_assignment": "it sets a variable",
    "test_command": "it has a [ ] or [[ ]] test, which can run commands",
}


class GrammarAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer of the helper process."""

    of: str
    """Digest of the parsed line: an answer to another line is rejected."""
    line: ParsedLine


def digest(command: bytes) -> str:
    """Return the digest that identifies a line in an answer."""
    return hashlib.sha256(command).hexdigest()


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _parser() -> Parser:
    """Return a new parser, because the scanner keeps state of a broken line, and crashed later."""
    from tree_sitter import Parser

    return Parser(_language())


def parse_shell_line(command: str) -> ParsedLine:
    """Parse a line. Never raises: a part that cannot be parsed becomes a doubt."""
    line = ParsedLine()
    odd = _odd_character(command)
    if odd is not None:
        line.doubts.append(odd)
    if len(command) > _LONGEST:
        line.doubts.append(f"it has {len(command):,} characters, which is too long")
        return line
    readable = (
        command if odd is None else "".join("?" if _odd_character(character) else character for character in command)
    )
    source = readable.encode("utf-8", "surrogatepass")
    root = _parser().parse(source).root_node
    if root.has_error:
        line.doubts.append("it does not fit bash's grammar")
    _Reader(source, line).read(root, 0)
    if not _covered(source, root):
        line.doubts.append("part of it was not understood")
    line.parts.sort(key=lambda part: part.start)
    line.doubts = list(dict.fromkeys(line.doubts))
    return line


def _odd_character(command: str) -> str | None:
    for character in command:
        if character in "\n\t" or character == " ":
            continue
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"):
            return f"{HIDDEN} (U+{ord(character):04X})"
    return None


def _covered(source: bytes, root: Node) -> bool:
    """Return whether the leaves of the tree cover the whole text, except for white space."""
    at, todo = 0, [root]
    while todo:
        node = todo.pop()
        if node.children and node.type not in ("string", "heredoc_body"):
            todo.extend(reversed(node.children))
            continue
        if source[at : node.start_byte].strip(b" \t\n"):
            return False
        at = max(at, node.end_byte)
    return not source[at:].strip(b" \t\n")


class _Reader:
    def __init__(self, source: bytes, line: ParsedLine) -> None:
        self.source, self.line = source, line

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def doubt(self, why: str) -> None:
        self.line.doubts.append(why)

    def read(self, node: Node, depth: int, *, piped: bool = False) -> None:
        """Collect the plain commands below the node."""
        if depth > _DEEPEST:
            self.doubt("it is nested too deeply")
            return
        kind = node.type
        if node.is_missing or kind == "ERROR":
            self.doubt("it does not fit bash's grammar")
        if kind == "ERROR":
            self.dig(node, depth)
            return
        if kind == "command":
            self.command(node, depth, piped=piped)
            return
        if kind == "file_redirect":
            self.redirect(node, depth)
            return
        if kind == "comment":
            return
        if node.is_named and kind not in _JOINING and kind != "redirected_statement":
            self.doubt(_SPECIAL.get(kind, f"it has a {kind.replace('_', ' ')}"))
            self.dig(node, depth)
            return
        self.children(node, depth, piped=piped)

    def children(self, node: Node, depth: int, *, piped: bool) -> None:
        after_pipe = False
        for child in node.children:
            if child.is_named:
                self.read(child, depth + 1, piped=piped or after_pipe)
                continue
            token = child.type
            after_pipe = token in ("|", "|&") or (after_pipe and token == "\n")
            if token == "&":
                self.doubt("it starts a command in the background")
            elif token not in _GLUE and node.type in _JOINING:
                self.doubt(f"it has a `{token}`")

    def command(self, node: Node, depth: int, *, piped: bool) -> None:
        words: list[Word] = []
        for child in node.children:
            if child.type == "command_name":
                words += [self.word(inner, depth + 1) for inner in child.children]
            elif child.type == "file_redirect":
                self.redirect(child, depth + 1)
            elif child.type in ("herestring_redirect", "variable_assignment"):
                self.doubt(_SPECIAL[child.type])
                self.dig(child, depth + 1)
            else:
                words.append(self.word(child, depth + 1))
        then = not self.source[: node.start_byte].strip() and self.followed_by_and(node)
        self.line.parts.append(PlainCommand(tuple(words), piped, then, node.start_byte))

    def followed_by_and(self, node: Node) -> bool:
        rest = self.source[node.end_byte :].lstrip(b" \t")
        return rest.startswith(b"&&")

    def redirect(self, node: Node, depth: int) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        target = node.child_by_field_name("destination")
        if target is None:
            self.doubt("it redirects to an unknown file")
            return
        word = self.word(target, depth + 1)
        if operator in (">&", "<&") and word.known and re.fullmatch(r"[0-9]", word.text):
            return
        if operator in (">", ">>", "&>", "&>>", ">|") and word.known and word.text == "/dev/null":
            return
        if operator == "<" and word.known:
            if word.text != "/dev/null":
                self.doubt(f"it reads {word.text} by a redirection")
            return
        self.doubt(f"it writes to {word.text}")
        self.line.writes.append(word.text)

    def dig(self, node: Node, depth: int) -> None:
        """Collect all commands below a node that is itself a doubt."""
        if depth > _DEEPEST:
            return
        for child in node.children:
            if child.type in ("command", "redirected_statement", "declaration_command"):
                self.read(child, depth + 1)
            else:
                self.dig(child, depth + 1)

    def word(self, node: Node, depth: int) -> Word:
        """Read one word, and record why it is unknown."""
        if depth > _DEEPEST:
            self.doubt("it is nested too deeply")
            return Word(self.text(node), known=False)
        text = self.text(node)
        match node.type:
            case "word" | "number" if not node.children:
                return self.bare(text)
            case "raw_string":
                return Word(text[1:-1])
            case "string":
                return self.quoted(node, depth)
            case "concatenation":
                return self.joined(node, depth)
            case "simple_expansion":
                return Word(text, known=False, echoable=True)
            case "command_substitution":
                self.children(node, depth, piped=False)
                return Word(text, known=False, echoable=True)
            case "number":  # such as `10#$x`
                self.doubt("it has an arithmetic expansion, which can run commands")
            case other:
                self.doubt(_SPECIAL.get(other, f"it has a {other.replace('_', ' ')}"))
                self.dig(node, depth)
        return Word(text, known=False)

    def bare(self, text: str) -> Word:
        if "\\" in text:
            self.doubt("it escapes characters with a backslash")
            return Word(re.sub(r"\\(.)", r"\1", text), known=False)
        if "{" in text or text.startswith("~") or not _PLAIN.fullmatch(text):
            return Word(text, known=text in ("{}", "{", "}"))
        pattern = re.search(r"[*?\[]", text)
        return Word(text, pattern=pattern is not None)

    def quoted(self, node: Node, depth: int) -> Word:
        named = [child for child in node.children if child.is_named and child.type != "string_content"]
        whole = self.text(node)
        if not (whole.startswith('"') and whole.endswith('"')) or len(whole) < 2:
            self.doubt("it does not fit bash's grammar")
        inner = whole[1:-1]
        if not named and "$" not in inner and "`" not in inner:
            if "\\\n" in inner:
                self.doubt("it breaks a line with a backslash")
            return Word(re.sub(r'\\(["\\$`])', r"\1", inner))
        if not named:
            return Word(re.sub(r'\\(["\\$`])', r"\1", inner), known=not re.search(r"(?<!\\)[$`]", inner))
        words = [self.word(child, depth + 1) for child in named]
        return Word(inner, known=False, echoable=all(word.echoable for word in words))

    def joined(self, node: Node, depth: int) -> Word:
        words: list[Word] = []
        for child in node.children:
            if not child.is_named and child.type == "$":
                self.doubt('it has a $"..." string')
            words.append(self.word(child, depth + 1) if child.is_named else Word(self.text(child), known=False))
        text = "".join(word.text for word in words)
        if any(word.pattern for word in words) or "{" in text:
            return Word(text, known=False)
        return Word(text, all(word.known for word in words), False, all(word.known or word.echoable for word in words))


def _answer(command: str) -> bytes:
    return msgspec.msgpack.encode(GrammarAnswer(of=digest(encoded(command)), line=parse_shell_line(command)))


if __name__ == "__main__":
    serve_helper(_answer, seconds=LONGEST_READING)
