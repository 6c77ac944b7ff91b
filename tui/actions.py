"""Every action, once: its key, its entry in the palette, its slash command. Light: no textual in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a person can do. What it does stands in `doings`, under the same name."""

    name: str
    label: str
    """In the palette and the help."""
    keys: str = ""
    """As textual names them, comma-separated; can be remapped by `name` in the config's `[keys]`."""
    takes: str = ""
    """What the slash command takes: `NAME VALUE`. A key or the palette then opens the command to be filled in."""
    hint: str = ""
    """One word for the footer."""
    where: str = "main"
    """`main`, `message`, `gate` or `board`: whose key it is."""
    typed: bool = True
    """There is a slash command."""
    spelled: str = ""
    """How the slash command is spelled, where it is not by the name."""

    @property
    def slash(self) -> str:
        """What is typed after the slash."""
        return self.spelled or self.name


ACTIONS: tuple[Action, ...] = (
    Action("help", "Keys and commands", "f1", hint="keys"),
    Action("palette", "All commands", "ctrl+p", hint="commands", typed=False),
    Action("interrupt", "Interrupt; what arrived is kept", "escape", hint="interrupt"),
    Action("gate", "What passes without you: ask, edits, auto, read", "shift+tab", takes="[MODE]"),
    Action("deny", "Deny a path or a command from now on", takes="path:GLOB"),
    Action("to_gate", "Go to the gate, or to the board of a search", "f2", hint="gate", typed=False),
    Action("board", "The board of a search, or its transcript", "ctrl+l", hint="transcript"),
    Action("pause", "Pause after this step, or go on", "f4", hint="pause"),
    Action("resume", "Go on: after a pause, a limit, the end"),
    Action("step", "Run one step, then pause", "f5", hint="one step"),
    Action("limit", "Change a limit: steps, usd, time, window, a tool's quota", "f6", takes="NAME VALUE", hint="limit"),
    Action("model", "Switch the model", "f7", takes="NAME", hint="model"),
    Action("effort", "How much the model reasons", takes="low | medium | high"),
    Action("stop", "Stop with a wrap-up; `now`; or what runs beside it", "f8", takes="[now | NAME]", hint="stop"),
    Action("handoff", "The hand-off: why, what was tried, what is left", "ctrl+r", hint="hand-off"),
    Action("spend", "What each model used of the run"),
    Action("replay", "Replay the run: 1x, 4x, 16x or 64x", "f11", takes="[SPEED]", hint="replay"),
    Action("wake", "Wake it while it sleeps", "f9", hint="wake"),
    Action("unfold", "Unfold or fold the last entry", "ctrl+o", hint="unfold"),
    Action("unfold_all", "Unfold everything, or fold it again", "ctrl+t"),
    Action("read", "Read: j k, Enter unfolds, y copies, Esc comes back", "f10"),
    Action("find", "Find in the transcript", "ctrl+f,f3", takes="TEXT", hint="find"),
    Action("copy", "Copy the selection, or the last answer"),
    Action("queue", "Take the newest queued message back, to edit it", "alt+up", hint="take back"),
    Action("editor", "Write the message in $EDITOR", "ctrl+g"),
    Action("theme", "Switch the theme", takes="[NAME]"),
    Action("trust", "Trust this folder's own config as it is now"),
    Action("undo", "Undo: the last change, the last N, back to a step", takes="[N | step N]"),
    Action("best", "Back to the best score: puts back what an open pass changed", "alt+r", hint="best score"),
    Action("undo_last", "Undo the last change; asks first", "f12", hint="undo", typed=False),
    Action("rewind", "Back to an earlier message, with the files: esc esc"),
    Action("wheel", "Take the wheel and drive; give it back with a note", "alt+w", takes="[NOTE]", hint="wheel"),
    Action("edit_file", "While you drive: a file in $EDITOR", takes="PATH", spelled="edit"),
    Action("finish", "While you drive: end the task with an answer", takes="ANSWER"),
    Action("compact", "A summary takes the place of the old rounds", takes="[undo]"),
    Action("clear", "Start the conversation anew"),
    Action("demo", "Run the scripted demo in a sample project"),
    Action("quit", "Leave; asks whether the run goes on", "ctrl+q", hint="quit"),
    Action("steer", "Say it at once: interrupts the step", "ctrl+s", hint="steer", where="message", typed=False),
    Action("newline", "New line", "ctrl+j,shift+enter", where="message", typed=False),
    Action("approve", "Approve: all, or the hunks that are taken", "y", where="gate", typed=False),
    Action("reject", "Reject", "n,escape", where="gate", typed=False),
    Action("pick", "Take or leave this hunk; the next one follows", "space", where="gate", typed=False),
    Action("take_all", "Take all hunks", "plus", where="gate", typed=False),
    Action("leave_all", "Leave all hunks", "minus", where="gate", typed=False),
    Action("reason", "A reason: for the hunk that is left, or for all", "tab", where="gate", typed=False),
    Action("edit", "Edit the new text, in $EDITOR where one is set", "e", where="gate", typed=False),
    Action("edit_here", "Edit the new text right here", "E", where="gate", typed=False),
    Action("always", "Always: shows the rule first", "A", where="gate", typed=False),
    Action("next_hunk", "Next hunk", "right_square_bracket", where="gate", typed=False),
    Action("previous_hunk", "Previous hunk", "left_square_bracket", where="gate", typed=False),
    Action("next_waiting", "Next proposal that waits", "greater_than_sign", where="gate", typed=False),
    Action("previous_waiting", "Previous proposal that waits", "less_than_sign", where="gate", typed=False),
    Action("split", "Side by side, or one below the other", "s", where="gate", typed=False),
    Action("full", "The whole height, or room for what is above", "f", where="gate", typed=False),
    Action("around", "Unfold what is around this hunk", "o", where="gate", typed=False),
    Action("whole", "Show the whole file around the change", "w", where="gate", typed=False),
    Action("again", "In conflict: the model reads it again, does it anew", "r", where="gate", typed=False),
    Action("mine", "In conflict: what you wrote stays", "m", where="gate", typed=False),
    Action("detail", "The picked row in full, or the list again", "enter", hint="open", where="board", typed=False),
    Action("confirm", "Confirm the picked finding", "c", hint="confirm", where="board", typed=False),
    Action("refute", "Refute the picked finding", "x", hint="refute", where="board", typed=False),
    Action("evidence", "Send the picked finding back for evidence", "v", hint="evidence", where="board", typed=False),
    Action("merge", "Merge a duplicate: on the one, then on the other", "m", hint="merge", where="board", typed=False),
    Action("item", "Add an item: url, file or value", "a,plus", takes="KIND VALUE", hint="add", where="board"),
    Action("lens", "Add a lens: its name, and how it looks", "L", takes="NAME PROMPT", hint="lens", where="board"),
    Action("skip", "Skip the picked item of the queue", "s", hint="skip", where="board", typed=False),
    Action("only", "List all findings, or those of one verdict", "f", hint="filter", where="board", typed=False),
    Action("view", "The next view", "tab", hint="views", where="board", typed=False),
    Action("copy_row", "Copy the picked row", "y", hint="copy", where="board", typed=False),
)

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}
_TYPED: Mapping[str, Action] = {action.slash: action for action in ACTIONS if action.typed}


def keys_of(place: str, remaps: Mapping[str, str]) -> dict[str, str]:
    """Key to the name of what it does there: `gate` or `board`."""
    found: dict[str, str] = {}
    for action in ACTIONS:
        if action.where == place:
            for key in remaps.get(action.name, action.keys).split(","):
                found[key.strip()] = action.name
    return found


def slash_commands() -> list[Action]:
    """Those that can be typed, in the order of the table."""
    return [action for action in ACTIONS if action.typed]


def parse_slash(text: str) -> tuple[Action | None, str]:
    """`/limit usd 2` is the action `limit` with `usd 2`; None: there is no such command."""
    name, _, argument = text.removeprefix("/").partition(" ")
    return _TYPED.get(name.strip().replace("-", "_")), argument.strip()


def keymap(remaps: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The remaps that name an action, and a line for each that does not."""
    good = {name: keys for name, keys in remaps.items() if name in BY_NAME}
    bad = [f"[keys] {name}: no such action; `/help` lists them" for name in remaps if name not in BY_NAME]
    return good, bad


_SHOWN = {
    "escape": "esc",
    "alt+up": "⌥↑",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "plus": "+",
    "minus": "-",
    "shift+tab": "⇧tab",
    "question_mark": "?",
    "enter": "⏎",
    "upper_a": "A",
    "tab": "tab",
}


def shown_key(keys: str) -> str:
    """The first of them as a person reads it: `^p`, `⇧tab`, `F2`."""
    key = keys.split(",", 1)[0].strip()
    if keys == "f1":
        return "?"
    if key in _SHOWN:
        return _SHOWN[key]
    if key.startswith("ctrl+"):
        return "^" + key.removeprefix("ctrl+")
    if len(key) in (2, 3) and key[0] == "f" and key[1:].isdigit():
        return key.upper()
    return key.replace("shift+", "⇧").replace("alt+", "⌥")
