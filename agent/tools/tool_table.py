"""The table of the model's tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import tool_arguments as given
from .command_tools import plan_command, plan_start
from .edit_tools import plan_edit, plan_write
from .propose_plan import draft_plan
from .reading.existing_files import list_files
from .reading.fetch_url import fetch_url
from .reading.read_file import read_file
from .reading.search_tool import search
from .tool import PATH, Tool, blocking_tool, described, gated_tool, number, reading_tool, text, web_tool
from .web_tools import plan_fetch, plan_search

if TYPE_CHECKING:
    from ..protocol import ToolSpec

_OLD = text("Lines exactly as they are in the file, enough of them to be unique.")
_NEW = text("The lines that replace them; empty removes the lines.")
_EDIT = {"type": "object", "properties": {"old_text": _OLD, "new_text": _NEW}, "required": ["old_text", "new_text"]}
_CITATION = {
    "anyOf": [
        text("`path` or `path:line`"),
        {
            "type": "object",
            "properties": {"path": PATH, "line": number("1-based."), "quote": text("Words from that place.")},
            "required": ["path"],
        },
    ]
}
_ITEM = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["file", "url", "value"]},
        "value": text("The path, the address or the text."),
    },
    "required": ["kind", "value"],
}
_FINDING = {
    "type": "object",
    "properties": {
        "title": text("One line that states the finding."),
        "detail": text("Why it matters and how to see it."),
        "evidence": text("`path:line`, or a URL."),
        "key": text("Its own name, if it has one; else leave it out."),
    },
    "required": ["title"],
}
_LENS = {
    "type": "object",
    "properties": {"name": text("One word."), "prompt": text("How to look.")},
    "required": ["name", "prompt"],
}


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        blocking_tool(
            described(
                "read_file",
                "Read a text file. Lines come numbered as `12| text`; the number and the bar are not part of the file.",
                ["path"],
                path=PATH,
                start_line=number("First line to read."),
                end_line=number("Last line to read."),
            ),
            given.ReadFile,
            read_file,
        ),
        blocking_tool(
            described(
                "list_files",
                "List the files of the project, or of one folder. Ignored files are left out.",
                [],
                path=text("A folder; without it, the whole project."),
                pattern=text("A glob such as `*.py` or `tests/**/*.json`."),
            ),
            given.ListFiles,
            list_files,
        ),
        reading_tool(
            described(
                "search",
                "Search file contents by a regular expression. Answers `path:line: text`.",
                ["pattern"],
                pattern=text("The regular expression."),
                path=text("A file or a folder; without it, the whole project."),
            ),
            given.Search,
            search,
        ),
        web_tool(
            described(
                "fetch_url",
                "Read a web page or text from a host that the person allows.",
                ["url"],
                url=text("The address, e.g. `https://docs.python.org/3/library/ast.html`."),
            ),
            given.FetchUrl,
            plan_fetch,
            fetch_url,
        ),
        gated_tool(
            described(
                "web_search",
                "Search the web. Answers with titles, addresses and short texts.",
                ["query"],
                query=text("The words to search for."),
            ),
            given.WebSearch,
            plan_search,
        ),
        gated_tool(
            described(
                "edit_file",
                "Change a file by replacing exact blocks of lines. Each `old_text` must occur exactly once. Give "
                "several blocks in `edits`, or one as `old_text` and `new_text`. All blocks are applied, or none.",
                ["path"],
                path=PATH,
                edits={"type": "array", "items": _EDIT, "description": "Blocks, applied in order."},
                old_text=_OLD,
                new_text=_NEW,
            ),
            given.EditFile,
            plan_edit,
        ),
        gated_tool(
            described(
                "write_file",
                "Write a whole file: a new one, or a new version of an existing one. To change a part, use edit_file.",
                ["path", "content"],
                path=PATH,
                content=text("The whole content."),
            ),
            given.WriteFile,
            plan_write,
        ),
        gated_tool(
            described(
                "run_command",
                "Run a command line with bash in the project folder without a terminal. Each call has a new shell: "
                "`cd` and variables do not last.",
                ["command"],
                command=text("The command line."),
                timeout={
                    "type": "number",
                    "description": "Seconds; usually 120 without it.",
                    "exclusiveMinimum": 0,
                },
            ),
            given.RunCommand,
            plan_command,
        ),
        gated_tool(
            described(
                "start_command",
                "Start a command that keeps running in the background, such as a server. It ends with the run.",
                ["name", "command"],
                name=text("A short name; `read_file` with path `output:NAME` shows what it prints."),
                command=text("The command line."),
            ),
            given.StartCommand,
            plan_start,
        ),
        Tool(
            spec=described(
                "stop_command", "End a command that runs in the background.", ["name"], name=text("Its name.")
            ),
            arguments=given.StopCommand,
        ),
        Tool(
            spec=described(
                "wait_for",
                "Wait until a background command ends or prints a text, a file appears or changes, a port accepts "
                "connections, some seconds are over, or the person has done something. Give exactly one of job, file, "
                "port, seconds and person. The result is only what is new.",
                [],
                job=text("Name of a background command."),
                text=text("With job: text that its output must contain; without it, the command must end."),
                file=PATH,
                port=number("A port on which a background command listens."),
                seconds={"type": "number", "description": "A time, up to 3600.", "exclusiveMinimum": 0},
                person=text("What the person has to do, in one sentence: they read it."),
                at_most={
                    "type": "number",
                    "description": "Longest time in seconds; 600 without it.",
                    "exclusiveMinimum": 0,
                },
            ),
            arguments=given.WaitFor,
        ),
        Tool(
            spec=described(
                "start_child",
                "Start a child run for a part of the work, and get its answer and what became of its changes. It knows "
                "only `task`, not this conversation; it cannot start others. Several calls in one answer run side by "
                "side: give them different files.",
                ["name", "task"],
                name=text("Two to five words: the person reads them."),
                task=text("All that it has to know and do, and what its answer must contain."),
                tools={
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Names of your tools that it may use; all without this.",
                },
                part=number("Percent of the budget that is left, up to 90."),
            ),
            arguments=given.StartChild,
        ),
        Tool(
            spec=described(
                "ask_person",
                "Ask the person something that only they can decide. The answer is the result.",
                ["question"],
                question=text("The question."),
                options={"type": "array", "items": {"type": "string"}, "description": "Answers to choose from."},
            ),
            arguments=given.AskPerson,
        ),
        gated_tool(
            described(
                "propose_plan",
                "Propose the plan. The person edits and accepts it, or says what to change.",
                ["steps", "check"],
                steps={"type": "array", "items": {"type": "string"}, "description": "The steps in order, one each."},
                check=text("A command line that exits with 0 only when the task is done. Empty if there can be none."),
            ),
            given.ProposePlan,
            draft_plan,
        ),
        Tool(
            spec=described(
                "finish",
                "End the task with an answer. Cite files that you read or wrote in this run.",
                ["answer", "citations"],
                answer=text("The answer."),
                citations={"type": "array", "items": _CITATION, "description": "Where it comes from; at least one."},
            ),
            arguments=given.Finish,
        ),
        Tool(
            spec=described(
                "update_plan",
                "Show the person your whole plan each time it changes. `[x]` before a step: done; `[>]`: in work.",
                ["lines"],
                lines={"type": "array", "items": {"type": "string"}, "description": "Such as `[x] read the tests`."},
            ),
            arguments=given.UpdatePlan,
        ),
        Tool(
            spec=described(
                "wake_after",
                "Sleep for a number of seconds (60 to 3600), then continue. A delay that would end "
                "just after the prompt cache expires is adjusted; the result says how long you slept.",
                ["seconds", "reason"],
                seconds={"type": "number", "description": "How long.", "minimum": 0},
                reason=text("What you wait for, in one sentence: the person reads it."),
            ),
            arguments=given.WakeAfter,
        ),
        Tool(
            spec=described(
                "report",
                "Report what you found and end this search. Set found_new=false when nothing is new.",
                ["found_new", "reason"],
                found_new={"type": "boolean", "description": "Whether anything here is new."},
                reason=text("One sentence: where you looked and what you found."),
                items={"type": "array", "items": _ITEM, "description": "Things worth a closer look."},
                findings={"type": "array", "items": _FINDING, "description": "What you found, each with its evidence."},
            ),
            arguments=given.Report,
        ),
        Tool(
            spec=described(
                "judge",
                "Give your verdict on the finding: `refuted` with what is wrong, `stands` only if you tried to refute "
                "it and could not, `duplicate` with the key of the finding that says the same.",
                ["verdict", "reason"],
                verdict={"type": "string", "enum": ["refuted", "stands", "duplicate"]},
                reason=text("What you checked and what you saw."),
                duplicate_of=text("Key of the other finding."),
            ),
            arguments=given.Judge,
        ),
        Tool(
            spec=described(
                "propose",
                "Propose one way to look that none of the lenses tried, or none if you do not know one.",
                ["reason"],
                reason=text("Why, in one sentence."),
                lens=_LENS,
            ),
            arguments=given.Propose,
        ),
    )
}
"""All tools by name. A test compares them with `TOOL_TRAITS`."""


def tool_specs(names: Sequence[str]) -> list[ToolSpec]:
    """Return the specifications of these tools for the model."""
    return [TOOLS[name].spec for name in names]


def usage(name: str) -> str:
    """Describe in one line how to call the tool: `read_file takes path, start_line (optional)`."""
    tool = TOOLS[name]
    wanted = tool.spec.parameters["required"]
    fields = [field if field in wanted else f"{field} (optional)" for field in tool.spec.parameters["properties"]]
    return f"{name} takes {', '.join(fields)}"
