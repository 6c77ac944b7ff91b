"""Edits in a file format: the program chooses the file and shows it, the model answers with text, and the program makes
a call of it that passes the gate like any other (docs/decisions/0038). The model neither chooses a tool nor escapes
arguments.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from ...gate.draft import read_file_state
from ...host.file_errors import PathRefused, UnreadableFile
from ...host.ignored_files import Ignore
from ...protocol import CONSTRAINED, PART_TEMPERATURE, AnswerFile, AnswerRead, FileFormat, Message, Prompted, ToolCall
from ...verdict.scope.run_scope import scope_of_run
from ...verdict.scope.source_names import is_source
from ..checks.feedback import feedback, unconfirmed_feedback
from .file_parts import part_is_complete, parts_of, read_part, text_of
from .format_words import MOST_TEST, first_failure, last_line, part_message, try_message
from .merge_definitions import same_program
from .read_answer import Reading, ShownFile, is_complete, read_answer
from .text_edits import FileSpace, TextEdits, one_turn, part_excerpt, whole_excerpt

if TYPE_CHECKING:
    from ...gate.guarded_paths import GuardedPaths
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...protocol import CheckFinished
    from ...state.facts.answer_facts import TriedAnswer
    from ...state.facts.run_facts import RunFacts
    from ...tools.tool_context import ToolContext
    from .file_excerpt import Lines

NO_FILE = "there is no text file here that may be edited: create one, or use --edit-format tools"
_BY_NAME = 2
"""Rating of `_names` at or above which a text mentions the file by name."""
_MOST_FILES = 5_000
_MOST_TEXT = 100_000
"""Characters of a test or setting that are searched for names of other files."""
_REDS = 2
"""Answers to one file that may fail before the next file is shown."""
_WHOLE = 1_500
"""Tokens of a file above which the model is asked for the changed part only."""
_LONG = 500
"""Tokens of a file above which a slow server writes for so long that the run begins with parts."""
_SLOW = 3
"""A file is long if it is more than a third of what the server reads without a long wait: it writes at a third to a
fifth of that speed."""
_NEW = 4_000
"""Tokens of an answer with a new file."""
_PART = 60
"""Tokens of an answer with one part besides twice the part."""
_MORE_OUTPUT = 150
"""Tokens of an answer besides one and a half times the file."""


class FileEdits(TextEdits):
    """The edits of a goal run in a file format."""

    has_tries = True

    def __init__(
        self,
        workspace: Workspace,
        journal: Journal,
        facts: RunFacts,
        guard: GuardedPaths,
        tools: ToolContext,
    ) -> None:
        """`tools`: those of the run, which know what is denied to the model and what it has read."""
        super().__init__(workspace, facts, tools)
        self._journal, self._guard = journal, guard
        self._shown = ShownFile("", "")
        self._base: TriedAnswer | None = None
        """The answer whose text was shown. None means the files as they are."""
        self._on_disk: str | None = None
        """The shown file's text in the workspace when it was shown."""
        self.format: FileFormat = CONSTRAINED
        """The format in which the file was shown: that of the run, or the one that fits the file better."""
        self._longest = 0
        self._part: Lines | None = None
        """The part that is asked for. None means the file."""
        self._number = self._parts = 0
        self._listed: Sequence[str] = ()
        """The files of the workspace when the file was chosen."""

    @property
    def longest(self) -> int:
        """Tokens of the longest answer that is asked for."""
        return self._longest

    @property
    def asks_for_json(self) -> bool:
        """Whether the server is asked to answer with JSON of the schema."""
        return self.format == CONSTRAINED and self._part is None

    @property
    def temperature(self) -> float:
        """The temperature of the next answer."""
        restart = self._facts.answers.restart
        if restart is None:
            return PART_TEMPERATURE if self._part is not None else 0.0
        return restart.temperature

    def show(self, space: FileSpace) -> list[Prompted] | None:
        """Return the message of the next try, with the file, or None if there is no file to edit."""
        shown = self._show(space)
        return None if shown is None else [Prompted(kind="file", text=shown)]

    def as_sent(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages as they are sent to a model without tools."""
        return one_turn(messages)

    def _show(self, space: FileSpace) -> str | None:
        answers = self._facts.answers
        form = cast(FileFormat, answers.format)
        self._part, self._number, self._parts = None, 0, 0
        self._listed = self._all_files()
        self._base = answers.base if answers.base is not None and self.is_untouched(answers.base) else None
        missing = [path for path in self._facts.spec.predicates.until_file if self._is_missing(path)]
        if missing:
            self._shown, self._on_disk = ShownFile(missing[0], "", is_new=True), None
            self.format, self._longest = form, _NEW
            return self._message(f"There is no file `{missing[0]}` yet.", space)
        self.share = None
        ranked = self._ranked()
        if answers.variant == "part" and answers.present[-1].path in ranked:  # the file of the answers before
            ranked.insert(0, answers.present[-1].path)
        for path in ranked:
            text = self._base_text(path)
            if text is None:
                continue
            excerpt, is_part = self._excerpt(path, text, space)
            asked = "\n".join([self._facts.spec.task, *(check.output for check in self._red_checks())])
            self._shown, self._on_disk = ShownFile(path, text, is_part=is_part, asked=asked), self._text(path)
            tokens = space.model.count_text(text)
            self.format = _fitting(form, self._shown, tokens)
            self._longest = 3 * min(tokens, _WHOLE) // 2 + _MORE_OUTPUT
            self._choose_part(self._part_asked(tokens, space), space)
            return self._message(excerpt, space)
        return None

    def _message(self, excerpt: str, space: FileSpace) -> str:
        answers = self._facts.answers
        last = answers.present[-1] if answers.present else None
        problem = last.problem if last is not None and not last.part else ""
        if self._part is not None:
            return part_message(self._shown, excerpt, self._failure(), text_of(self._shown, self._part))
        failure = (self._failing_test(space) if answers.variant == "test" else "") or self._failure()
        return try_message(self.format, self._shown, excerpt, failure, self._tried(), problem)

    def _part_asked(self, tokens: int, space: FileSpace) -> int:
        """Return the number of the part that the try asks for. 0 means the file, of this length.

        A run begins with the parts of a file that the server would write for too long.
        """
        restart = self._facts.answers.restart
        if restart is not None:
            return restart.part
        limit = space.quickly_read
        is_long = limit is not None and tokens > max(_LONG, limit // _SLOW)
        return int(is_long and self._facts.may_ask_for_parts)

    def _choose_part(self, number: int, space: FileSpace) -> None:
        """Set the part of the shown file that is asked for. 0 means the file."""
        if not number:
            return
        shown = self._shown
        outputs = "\n".join(check.output for check in self._red_checks())
        parts = parts_of(shown.path, shown.text, outputs, self._test_text(outputs))
        if number <= len(parts):
            self._part, self._number, self._parts = parts[number - 1], number, len(parts)
            self._longest = 2 * space.model.count_text(text_of(shown, self._part)) + _PART

    def is_complete(self, said: str) -> bool:
        """Return whether the answer so far is complete, so that nothing more has to be added."""
        if self._part is not None:
            return part_is_complete(said, self._shown, self._part)
        return is_complete(self.format, said, self._shown)

    def read(self, said: str) -> tuple[AnswerRead, list[ToolCall]]:
        """Read an answer. Returns the event that says what it gives, and the calls that make the edit."""
        answers, shown, base = self._facts.answers, self._shown, self._base
        part = self._part
        reading = read_answer(self.format, said, shown) if part is None else read_part(said, shown, part)
        is_untouched = self._text(shown.path) == self._on_disk and (base is None or self.is_untouched(base))
        if reading.text is not None and not is_untouched:
            reading = Reading(None, f"{shown.path} was changed by somebody else meanwhile.")
        files = [] if reading.text is None else self._files(base, shown.path, reading.text)
        digest = self._digest(files)
        same = answers.same_program(digest) if files else 0
        read = AnswerRead(
            number=len(answers.all) + 1,
            format=self.format,
            base=0 if base is None else base.number,
            path=shown.path,
            problem=_repeated(same) if same else reading.problem,
            same_as=same,
            digest=digest,
            files=[] if same else [self._kept(path, text) for path, text in files],
            part=self._number,
            parts=self._parts,
            line=0 if part is None else part[0] + 1,
            notes=reading.notes,
        )
        return read, [] if same else [self.call_of(path, text) for path, text in files]

    def is_untouched(self, answer: TriedAnswer) -> bool:
        """Return whether the files of an answer are as they were when it was read, so its text may replace them."""
        return all(
            self._text(one.path) == (None if one.before is None else self._journal.blobs.load(one.before).decode())
            for one in answer.files
        )

    def _files(self, base: TriedAnswer | None, path: str, text: str) -> list[tuple[str, str]]:
        """Return the files of a candidate: those of its base, and the shown one."""
        others = [] if base is None else [(one.path, self._text_of(one)) for one in base.files if one.path != path]
        return [*others, (path, text)]

    def _digest(self, files: Sequence[tuple[str, str]]) -> str:
        """Return a digest that is equal for the same program in the same workspace, or empty if there is no candidate.

        Programs are the same in a test run, if the checks are test runs; else if their texts are.
        """
        if not files:
            return ""
        counts = [check.ran is not None for check in self._facts.answers.start.values()]
        is_test_run = bool(counts) and all(counts)
        program = [
            (path, same_program(text) if is_test_run and path.endswith((".py", ".pyi")) else text)
            for path, text in sorted(files)
        ]
        return hashlib.sha256(msgspec.json.encode((self._facts.world, program))).hexdigest()[:32]

    def _kept(self, path: str, text: str) -> AnswerFile:
        now = self._text(path)
        before = None if now is None else self._journal.blobs.keep(now.encode())
        return AnswerFile(path=path, before=before, after=self._journal.blobs.keep(text.encode()))

    def _text_of(self, file: AnswerFile) -> str:
        return self._journal.blobs.load(file.after).decode()

    def _base_text(self, path: str) -> str | None:
        """Return the text of a file in the base of the next answer."""
        now, files = self._text(path), [] if self._base is None else self._base.files
        found = next((one for one in files if one.path == path), None)
        return now if found is None or now is None else self._text_of(found)

    def _failure(self) -> str:
        """Return the failure that the check reports for the base."""
        verdicts, base = self._facts.verdicts, self._base
        if base is None and verdicts.is_unconfirmed and verdicts.confirmation is not None:
            return unconfirmed_feedback(verdicts.confirmation)
        parts = [
            feedback(msgspec.structs.replace(check, output=first_failure(check.output))) for check in self._red_checks()
        ]
        unmet = {j.name: j.detail for j in verdicts.predicates.values() if not j.passed} if base is None else base.unmet
        return "\n\n".join([*parts, *(f"Not met yet: {name}: {detail}" for name, detail in unmet.items())])

    def _failing_test(self, space: FileSpace) -> str:
        """Return the test that the output of a red check names most clearly.

        Returns empty if it names none that may be shown. It replaces the output, which can mislead a model where the
        test alone does not.
        """
        for check in self._red_checks():
            named = [(_names(path, check.output), path, text) for path, text in self._tests(check.output)]
            if named:
                _, path, text = max(named)
                if space.model.count_text(text) <= MOST_TEST:
                    shown = whole_excerpt(path, text)
                else:
                    shown = part_excerpt(path, text, MOST_TEST, space.model.count_text, check.output)
                return f"The check `{check.command}` has not passed yet, because of a test in this file. {shown}"
        return ""

    def _red_checks(self) -> list[CheckFinished]:
        """Return the verdicts on the base that are red."""
        checks = self._facts.answers.start if self._base is None else self._base.checks
        return [check for check in map(checks.get, self._facts.spec.predicates.until) if check and not check.passed]

    def _tried(self) -> list[str]:
        """Return the results of the answers to the present files, without that of the base."""
        reds = [one for one in self._facts.answers.present if one.is_checked and one is not self._base]
        return [
            line
            for one in reds
            for check in one.checks.values()
            if not check.passed and (line := last_line(check.output))
        ]

    def _is_missing(self, path: str) -> bool:
        if self._tools.denial_of("write_file", path):
            return False
        try:
            state = read_file_state(self._workspace, path)
        except (PathRefused, UnreadableFile):
            return False
        return not state.exists or not state.data

    def _ranked(self) -> list[str]:
        """Return the editable files, most likely first: by the check's output, the task, and the tests.

        Named files alternate: after two answers to one file that did not pass the check, the next file follows.
        """
        outputs = "\n".join(check.output for check in self._facts.verdicts.checks.values() if not check.passed)
        test_texts = [text[:_MOST_TEXT] for _, text in self._tests(outputs)]
        known = self._facts.touched()
        task, reds = self._facts.spec.task, self._reds()
        scored: list[tuple[bool, int, int, bool, bool, str]] = []
        for path in self._listed:
            if self._is_closed(path):
                continue
            denies = self._tools.denial_of
            if denies("read_file", path) or denies("write_file", path) or self._is_read_only(path):
                continue
            in_task, in_output = _names(path, task), _names(path, outputs)
            if in_task < _BY_NAME and self._workspace.caution(Path(path)) is not None:
                continue  # such a file is edited only if the task names it
            score = 8 * in_output + 6 * in_task
            score += 2 * max((_names(path, text) for text in test_texts), default=0) + (path in known)
            is_hidden = path.startswith(".") or "/." in path
            is_named = max(in_task, in_output) >= _BY_NAME
            turns = reds.get(path, 0) // _REDS if is_named else 0
            scored.append((not is_named, turns, -score, is_hidden, not is_source(path), path))
        likely, others = [one for one in scored if one[2]], [one for one in scored if not one[2]]
        return [path for *_, path in (*sorted(likely), *sorted(others))]

    def _is_closed(self, path: str) -> bool:
        """Return whether the user guards a file, or it decides the check."""
        scope = scope_of_run(self._facts.verdicts, self._journal, self._workspace.root)
        return self._guard.matches(path) or (scope is not None and scope.decides_check(path))

    def _is_read_only(self, path: str) -> bool:
        try:
            return not (self._workspace.root / path).stat().st_mode & 0o222
        except OSError:
            return True

    def _reds(self) -> dict[str, int]:
        """Return for each file how many answers to it did not pass the check."""
        found = dict[str, int]()
        for answer in self._facts.answers.present:
            if answer.is_checked and not answer.part:
                found[answer.path] = found.get(answer.path, 0) + 1
        return found

    def _all_files(self) -> list[str]:
        found: list[str] = []
        for path, entry in Ignore(self._workspace.root, self._workspace.skipped).walk():
            if entry.is_file(follow_symlinks=False):
                found.append(path)
                if len(found) == _MOST_FILES:
                    break
        return found

    def _excerpt(self, path: str, text: str, space: FileSpace) -> tuple[str, bool]:
        """Return the whole text, or the parts that the check is about; and whether it is less than the whole.

        A part is shown if the text does not fit, or if the server would read it for too long.
        """
        tokens, limit = space.model.count_text(text), space.quickly_read
        self.share, size = next(((share, size) for share, size in space.tokens if tokens <= size), space.tokens[-2])
        size = size if limit is None else min(size, limit)
        if tokens <= size:
            return whole_excerpt(path, text), False
        outputs = "\n".join(check.output for check in self._facts.verdicts.checks.values() if not check.passed)
        return part_excerpt(path, text, size, space.model.count_text, outputs, self._test_text(outputs)), True

    def _test_text(self, outputs: str) -> str:
        return "\n".join(text[:_MOST_TEXT] for _, text in self._tests(outputs))

    def _tests(self, outputs: str) -> list[tuple[str, str]]:
        """Return the paths and texts of the files that may not be edited and that the output of a check names."""
        named = (path for path in self._listed if _names(path, outputs) and self._is_closed(path))
        return [(path, text) for path in named if (text := self._text(path)) is not None]


def _fitting(form: FileFormat, shown: ShownFile, tokens: int) -> FileFormat:
    """Return the format of the run, or the nearest one that fits the file."""
    is_long = shown.is_part or tokens > _WHOLE
    if form == "functions" and not shown.is_python:
        return "blocks" if is_long else "whole"
    if form == "whole" and is_long:
        return "functions" if shown.is_python else "blocks"
    return form


def _repeated(number: int) -> str:
    return f"It is the same program as that of answer {number}, which did not pass the check."


def _names(path: str, text: str) -> int:
    """Rate how clearly the text names the file: 3 by path, 2 by name or module, 1 by stem, 0 not at all."""
    stem = path.rpartition(".")[0] or path
    module = stem.removesuffix("/__init__").replace("/", ".")
    name, last = path.rpartition("/")[2], stem.rpartition("/")[2]
    if "/" in path and _occurs(path, text):
        return 3
    if _occurs(name, text) and name != "__init__.py":
        return 2
    if "/" in stem and (_occurs(module, text) or _occurs(stem, text)):
        return 2
    return 1 if len(last) > 2 and _occurs(last, text) else 0


def _occurs(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
