"""Edits in a chat whose model answers with text: the person names files, the program shows them, and code in an answer
whose file is certain becomes a change that waits at the gate (docs/decisions/0038).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ...host.file_errors import PathRefused
from ...host.meant_paths import meant_path
from ...models.images.mentions import mentions
from ...protocol import Message, Prompted, ToolCall
from .answer_blocks import Block, blocks_of
from .choose_format import explains_a_call
from .read_answer import ShownFile, read_block
from .text_edits import FileSpace, TextEdits, one_turn, part_excerpt, whole_excerpt

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...state.facts.conversation import Conversation
    from ...state.facts.run_facts import RunFacts
    from ...tools.tool_context import ToolContext

_MOST_SHOWN = 4
"""Files that one message of the person can show."""
_MOST_WORDS = 2_000
_AROUND = "\"'`()[]{}<>,;:!?"
"""Characters around a path in a message."""


class ChatEdits(TextEdits):
    """The edits of a chat."""

    has_tries = False

    def __init__(self, workspace: Workspace, facts: RunFacts, tools: ToolContext) -> None:
        """`tools`: those of the run, which know what is denied to the model and what it has read."""
        super().__init__(workspace, facts, tools)
        self._shown: dict[str, ShownFile] = {}
        """The files of the newest prompt: those in the newest message of the person that names any."""

    @property
    def asks_for_json(self) -> bool:
        """Whether the server is asked to answer with JSON: never, because an answer may be words."""
        return False

    @property
    def temperature(self) -> None:
        """None, because the server's temperature is used."""

    @property
    def longest(self) -> None:
        """None, because the length of an answer has no limit of its own."""

    def show(self, space: FileSpace) -> list[Prompted]:
        """Return the files that the person names and the model has not seen, or not with their present text."""
        conversation = self._facts.main
        sent = {message.path: message.text for message in conversation.current() if message.path}
        named, new = self.named_files(conversation), list[Prompted]()
        limit = space.tokens[0][1] // max(1, len(named))
        self._shown = {}
        for path in named:
            text = self._text(path)
            if text is None:
                continue
            is_part = space.model.count_text(text) > limit
            shown = part_excerpt(path, text, limit, space.model.count_text) if is_part else whole_excerpt(path, text)
            self._shown[path] = ShownFile(path, text, is_part=is_part, is_offer=True)
            if sent.get(path) != shown:
                new.append(Prompted(kind="attached", text=shown, path=path))
        return new

    def as_sent(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages for a model that has no tools: calls and results as text.

        An answer that only explains a call is left out, because a small model repeats it, or any text in its place.
        """
        tools = {call.call_id: call.tool for message in messages for call in message.calls}
        out: list[Message] = []
        for one in messages:
            if one.role == "tool":
                text = f"Result of `{tools.get(one.call_id or '', 'a call')}`:\n{one.text}"
                out.append(Message(role="user", text=text, images=one.images))
            elif one.calls:
                called = [f"[called `{call.tool}`]" for call in one.calls if not call.from_text]
                out.append(Message(role="assistant", text="\n".join([*([one.text] if one.text else []), *called])))
            elif not (one.role == "assistant" and explains_a_call(one.text)):
                out.append(one)
        return one_turn(out)

    def is_complete(self, said: str) -> bool:
        """Return False: an answer of a chat may have more to say after its code."""
        del said
        return False

    def read(self, said: str) -> tuple[None, list[ToolCall]]:
        """Read an answer. Returns the calls that make its edits; `notes` then say why other code was not used."""
        files, problems = self._edits(said, self._shown)
        calls: list[ToolCall] = []
        for path, text in files.items():
            shown = self._shown.get(path)
            if shown is not None and self._text(path) != shown.text:
                problems[path] = f"{path} was changed by somebody else meanwhile."
            else:
                calls.append(self.call_of(path, text, from_text=True))
        self.notes = [
            Prompted(kind="unused", text=f"The code for {path} was not used: {why}", path=path)
            for path, why in problems.items()
        ]
        return None, calls

    def edited_by(self, said: str) -> list[str]:
        """Return the files that an answer would edit, if the chat were in a file format."""
        named = {path: text for path in self.named_files(self._facts.main) if (text := self._text(path)) is not None}
        return list(self._edits(said, {path: ShownFile(path, text, is_offer=True) for path, text in named.items()})[0])

    def named_files(self, conversation: Conversation) -> list[str]:
        """Return the existing text files that the newest message of the person that names any names."""
        said = set(conversation.said)
        for message, seq in zip(reversed(conversation.messages), reversed(conversation.seqs), strict=True):
            if message.role == "user" and seq in said and (found := self._named_in(message.text)):
                return found
        return []

    def _named_in(self, text: str) -> list[str]:
        by_mention = [path for one in mentions(text) for path in (one.path, one.shorter) if path]
        words = [word.strip(_AROUND).rstrip(".") for word in text.split()[:_MOST_WORDS]]
        found = dict.fromkeys(
            path
            for given, is_sure in [*((one, True) for one in by_mention), *((one, False) for one in words)]
            if ("." in given or "/" in given or is_sure) and (path := self._existing(given, is_sure=is_sure))
        )
        return [path for path in found if self._text(path) is not None][:_MOST_SHOWN]

    def _existing(self, given: str, *, is_sure: bool = True) -> str:
        """Return the path of an existing file below the workspace, or empty if there is none.

        `is_sure`: the name is written as that of a file; else a file with a caution, such as `.env`, does not count.
        """
        try:
            real = self._workspace.resolve(meant_path(self._workspace, given))
        except (PathRefused, OSError, ValueError):
            return ""
        if not real.is_file() or (not is_sure and self._workspace.caution(real) is not None):
            return ""
        return self._workspace.relative(real)

    def _edits(self, said: str, shown: dict[str, ShownFile]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the new texts of files by path, and why code for a file cannot be used, by path."""
        now, problems = dict[str, ShownFile](), dict[str, str]()
        for block in blocks_of(said):
            path = self._file_of(block, shown)
            if path is None:
                continue
            file = now.get(path) or shown.get(path) or self._unshown(path)
            if file is None:
                continue
            file = replace(file, is_named=bool(block.names))
            reading = read_block(block.text_for(file.text.partition("\n")[0]), file)
            if reading is not None and reading.text is not None:
                now[path] = replace(file, text=reading.text)
            elif reading is not None and not reading.is_same and _is_meant(block, is_other=reading.is_other):
                problems[path] = reading.problem
        changed = {path: file.text for path, file in now.items() if path not in problems}
        return changed, problems

    def _unshown(self, path: str) -> ShownFile | None:
        """Return a file that was not shown, or None if it is there, and is not text that the model may see."""
        text = self._text(path)
        if text is not None:
            return ShownFile(path, text, is_offer=True)
        if self._existing(path) or self._tools.denial_of("read_file", path):
            return None
        return ShownFile(path, "", is_new=True)

    def _file_of(self, block: Block, shown: dict[str, ShownFile]) -> str | None:
        """Return the file of a block, if it is certain."""
        if block.names:
            found = {self._named(name, shown) or self._new(name) for name in block.names}
            return found.pop() if len(found) == 1 else None
        endings = {PurePosixPath(path).suffix for path in shown}
        found = {self._named(name, shown) for name in block.mentions} - {None}
        others = [
            name
            for name in block.mentions
            if self._named(name, shown) is None and ("/" in name or PurePosixPath(name).suffix in endings)
        ]
        if found or others:
            return found.pop() if len(found) == 1 and not others else None
        only = next(iter(shown)) if len(shown) == 1 else None
        return only if only is not None and block.fits(only) else None

    def _named(self, name: str, shown: dict[str, ShownFile]) -> str | None:
        """Return the existing file with this path, or the one shown file with this name."""
        if path := self._existing(name):
            return path
        alike = [path for path in shown if PurePosixPath(path).name == name]
        return alike[0] if len(alike) == 1 else None

    def _new(self, name: str) -> str | None:
        """Return the path of a file that does not exist, in a folder that does, or None if it cannot be made."""
        try:
            real = self._workspace.resolve(meant_path(self._workspace, name, is_new=True))
        except (PathRefused, OSError, ValueError):
            return None
        return self._workspace.relative(real) if real.parent.is_dir() and not real.exists() else None


def _is_meant(block: Block, *, is_other: bool) -> bool:
    """Return whether a block that cannot be used was meant as an edit, and is not only an example."""
    return block.is_marked or bool(block.names) or (bool(block.mentions) and not is_other)
