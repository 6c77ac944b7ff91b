"""The model's tools as they are offered to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ..protocol import ToolSpec
from . import arguments as given

Kind = Literal["read", "change", "command", "stop", "ask", "finish", "end", "plan"]


class Tool(msgspec.Struct, frozen=True):
    """One tool: its name, its arguments, and its kind of effect."""

    name: str
    kind: Kind
    arguments: type[msgspec.Struct]
    spec: ToolSpec


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


def _number(about: str) -> dict[str, Any]:
    return {"type": "integer", "description": about, "minimum": 1}


_PATH = _text("Path relative to the project folder, e.g. `src/app.py`.")
_OLD = _text("Lines exactly as they are in the file, enough of them to be unique.")
_NEW = _text("The lines that replace them; empty removes the lines.")
_EDIT = {"type": "object", "properties": {"old_text": _OLD, "new_text": _NEW}, "required": ["old_text", "new_text"]}
_CITATION = {
    "anyOf": [
        _text("`path` or `path:line`"),
        {
            "type": "object",
            "properties": {"path": _PATH, "line": _number("1-based."), "quote": _text("Words from that place.")},
            "required": ["path"],
        },
    ]
}
_ITEM = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["file", "url", "value"]},
        "value": _text("The path, the address or the text."),
    },
    "required": ["kind", "value"],
}
_FINDING = {
    "type": "object",
    "properties": {
        "title": _text("One line that states the finding."),
        "detail": _text("Why it matters and how to see it."),
        "evidence": _text("`path:line`, or a URL."),
        "key": _text("Its own name, if it has one; else leave it out."),
    },
    "required": ["title"],
}
_LENS = {
    "type": "object",
    "properties": {"name": _text("One word."), "prompt": _text("How to look.")},
    "required": ["name", "prompt"],
}


def _tool(
    kind: Kind,
    name: str,
    arguments: type[msgspec.Struct],
    about: str,
    required: Sequence[str],
    /,
    **properties: dict[str, Any],
) -> Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name, kind, arguments, ToolSpec(name, about, schema))


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool(
            "read",
            "read_file",
            given.ReadFile,
            "Read a text file. Lines come numbered as `12| text`; the number and the bar are not part of the file.",
            ["path"],
            path=_PATH,
            start_line=_number("First line to read."),
            end_line=_number("Last line to read."),
        ),
        _tool(
            "read",
            "list_files",
            given.ListFiles,
            "List the files of the project, or of one folder. Ignored files are left out.",
            [],
            path=_text("A folder; without it, the whole project."),
            pattern=_text("A glob such as `*.py` or `tests/**/*.json`."),
        ),
        _tool(
            "read",
            "search",
            given.Search,
            "Search file contents by a regular expression. Answers `path:line: text`.",
            ["pattern"],
            pattern=_text("The regular expression."),
            path=_text("A file or a folder; without it, the whole project."),
        ),
        _tool(
            "read",
            "fetch_url",
            given.FetchUrl,
            "Read a web page or text from a host that the person allowed.",
            ["url"],
            url=_text("The address, e.g. `https://docs.python.org/3/library/ast.html`."),
        ),
        _tool(
            "change",
            "edit_file",
            given.EditFile,
            "Change a file by replacing exact blocks of lines. Each `old_text` must occur exactly once. Give several "
            "blocks in `edits`, or one as `old_text` and `new_text`. All blocks land or none.",
            ["path"],
            path=_PATH,
            edits={"type": "array", "items": _EDIT, "description": "Blocks, applied in order."},
            old_text=_OLD,
            new_text=_NEW,
        ),
        _tool(
            "change",
            "write_file",
            given.WriteFile,
            "Write a whole file: a new one, or a new version of an existing one. To change a part, use edit_file.",
            ["path", "content"],
            path=_PATH,
            content=_text("The whole content."),
        ),
        _tool(
            "command",
            "run_command",
            given.RunCommand,
            "Run a command line with bash in the project folder without a terminal. Each call has a new shell: `cd` "
            "and variables do not last.",
            ["command"],
            command=_text("The command line."),
            timeout={
                "type": "number",
                "description": "Seconds; usually 120 without it.",
                "exclusiveMinimum": 0,
            },
        ),
        _tool(
            "command",
            "start_command",
            given.StartCommand,
            "Start a command that keeps running in the background, such as a server. It ends with the run.",
            ["name", "command"],
            name=_text("A short name; `read_file` with path `output:NAME` shows what it prints."),
            command=_text("The command line."),
        ),
        _tool(
            "stop",
            "stop_command",
            given.StopCommand,
            "End a command that runs in the background.",
            ["name"],
            name=_text("Its name."),
        ),
        _tool(
            "ask",
            "ask_person",
            given.AskPerson,
            "Ask the person something that only they can decide. The answer is the result.",
            ["question"],
            question=_text("The question."),
            options={"type": "array", "items": {"type": "string"}, "description": "Answers to choose from."},
        ),
        _tool(
            "finish",
            "finish",
            given.Finish,
            "End the task with an answer. Cite files that you read or wrote in this run.",
            ["answer", "citations"],
            answer=_text("The answer."),
            citations={"type": "array", "items": _CITATION, "description": "Where it comes from; at least one."},
        ),
        _tool(
            "plan",
            "update_plan",
            given.UpdatePlan,
            "Show the person your whole plan each time it changes. Mark finished steps with `[x]`.",
            ["lines"],
            lines={"type": "array", "items": {"type": "string"}, "description": "One step a line."},
        ),
        _tool(
            "end",
            "wake_after",
            given.WakeAfter,
            "Sleep for a number of seconds (60 to 3600), then continue. A delay that would end just "
            "after the prompt cache expires is adjusted; the result says how long you slept.",
            ["seconds", "reason"],
            seconds={"type": "number", "description": "How long.", "minimum": 0},
            reason=_text("What you wait for, in one sentence: the person reads it."),
        ),
        _tool(
            "end",
            "report",
            given.Report,
            "Report what you found and end this search. Set found_new=false when nothing is new.",
            ["found_new", "reason"],
            found_new={"type": "boolean", "description": "Whether anything here is new."},
            reason=_text("One sentence: where you looked and what you found."),
            items={"type": "array", "items": _ITEM, "description": "Things worth a closer look."},
            findings={"type": "array", "items": _FINDING, "description": "What you found, each with its evidence."},
        ),
        _tool(
            "end",
            "judge",
            given.Judge,
            "Give your verdict on the finding: `refuted` with what is wrong, `stands` only if you tried to refute it "
            "and could not, `duplicate` with the key of the finding that says the same.",
            ["verdict", "reason"],
            verdict={"type": "string", "enum": ["refuted", "stands", "duplicate"]},
            reason=_text("What you checked and what you saw."),
            duplicate_of=_text("Key of the other finding."),
        ),
        _tool(
            "end",
            "propose",
            given.Propose,
            "Propose one way to look that none of the lenses tried, or none if you do not know one.",
            ["reason"],
            reason=_text("Why, in one sentence."),
            lens=_LENS,
        ),
    )
}


def offered(names: Sequence[str]) -> list[ToolSpec]:
    """Return the specifications of these tools for the model."""
    return [TOOLS[name].spec for name in names]


def usage(name: str) -> str:
    """Describe in one line how to call the tool: `read_file takes path, start_line (optional)`."""
    tool = TOOLS[name]
    wanted = tool.spec.parameters["required"]
    fields = [field if field in wanted else f"{field} (optional)" for field in tool.spec.parameters["properties"]]
    return f"{name} takes {', '.join(fields)}"
