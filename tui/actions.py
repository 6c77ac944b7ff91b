"""Define every user action: its key, palette entry and slash command. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the user can do. Its handler has the same name in `handlers`."""

    name: str
    label: str
    """At most three words, shown in the palette and the help."""
    detail: str = ""
    """More about it, shown after the label in the help."""
    keys: str = ""
    """Names that textual uses, comma-separated. The config's `[keys]` remaps them by `name`."""
    takes: str = ""
    """Arguments of the slash command: `NAME VALUE`. A key or the palette then opens the command to be completed."""
    hint: str = ""
    """A short text for the footer."""
    where: str = "main"
    """The part of the screen that the key belongs to: `main`, `message`, `gate` or `board`."""
    typed: bool = True
    """Whether there is a slash command."""
    spelled: str = ""
    """The slash command, if it differs from the name. `/wheel` is still accepted for `/control`."""

    @property
    def slash(self) -> str:
        """Return the text after the slash."""
        return self.spelled or self.name


ACTIONS: tuple[Action, ...] = (
    Action("help", "Show keys", "every key and command", "f1", hint="keys"),
    Action("palette", "List commands", "", "ctrl+p", hint="commands", typed=False),
    Action("interrupt", "Interrupt", "keeps what has arrived", "escape", hint="interrupt"),
    Action("gate", "Set gate mode", "ask, edits, auto, read", "shift+tab", takes="[MODE]"),
    Action("deny", "Deny access", "to a path or a command, from now on", takes="path:GLOB"),
    Action("to_gate", "Focus gate", "or the board, in a search", "f2", hint="gate", typed=False),
    Action("board", "Toggle board", "or the transcript, in a search", "ctrl+l", hint="transcript"),
    Action("pause", "Pause run", "after this step; or resume it", "f4", hint="pause"),
    Action("resume", "Resume run", "after a pause, a limit, the end"),
    Action("step", "Run one step", "then pause", "f5", hint="one step"),
    Action("limit", "Change limit", "steps, usd, time, window, a quota", "f6", takes="NAME VALUE", hint="limit"),
    Action("model", "Switch model", "", "f7", takes="NAME", hint="model"),
    Action("effort", "Set effort", "how much the model reasons", takes="low | medium | high"),
    Action("stop", "Stop run", "or `now`, or a background command", "f8", takes="[now | NAME]", hint="stop"),
    Action("handoff", "Show hand-off", "reason, attempts, what is left", "ctrl+r", hint="hand-off"),
    Action("spend", "Show spend", "of each model in this run"),
    Action("replay", "Replay run", "at 1x, 4x, 16x or 64x", "f11", takes="[SPEED]", hint="replay"),
    Action("wake", "Wake run", "while it sleeps", "f9", hint="wake"),
    Action("unfold", "Unfold entry", "the last one; or fold it", "ctrl+o", hint="unfold"),
    Action("unfold_all", "Unfold all", "or fold all", "ctrl+t"),
    Action("read", "Read transcript", "j k, Enter unfolds, y copies", "f10"),
    Action("find", "Find text", "in the transcript", "ctrl+f,f3", takes="TEXT", hint="find"),
    Action("copy", "Copy text", "the selection, or the last answer"),
    Action("queue", "Edit queued message", "the newest one", "alt+up", hint="edit queued"),
    Action("editor", "Open editor", "write the message in $EDITOR", "ctrl+g"),
    Action("theme", "Switch theme", "", takes="[NAME]"),
    Action("trust", "Trust folder", "its config as it is now"),
    Action("undo", "Undo changes", "the last, the last N, back to a step", takes="[N | step N]"),
    Action("best", "Restore best score", "reverts the open pass", "alt+r", hint="best score"),
    Action("undo_last", "Undo last change", "asks first", "f12", hint="undo", typed=False),
    Action("rewind", "Rewind run", "to a message, with the files: esc esc"),
    Action(
        "wheel", "Take control", "or return it with a note", "alt+w", takes="[NOTE]", hint="control", spelled="control"
    ),
    Action("edit_file", "Edit file", "in $EDITOR, while in control", takes="PATH", spelled="edit"),
    Action("finish", "Finish task", "with an answer, while in control", takes="ANSWER"),
    Action("compact", "Compact conversation", "a summary replaces rounds", takes="[undo]"),
    Action("clear", "Clear conversation", "start a new one"),
    Action("demo", "Run demo", "a scripted model in a sample project"),
    Action("quit", "Leave", "asks whether the run continues", "ctrl+q", hint="quit"),
    Action("steer", "Send immediately", "interrupts the step", "ctrl+s", hint="steer", where="message", typed=False),
    Action("newline", "Insert line", "", "ctrl+j,shift+enter", where="message", typed=False),
    Action("approve", "Approve", "all, or the accepted hunks", "y", where="gate", typed=False),
    Action("reject", "Reject", "", "n,escape", where="gate", typed=False),
    Action("pick", "Accept or skip", "this hunk, then go to the next", "space", where="gate", typed=False),
    Action("take_all", "Accept all hunks", "", "plus", where="gate", typed=False),
    Action("leave_all", "Skip all hunks", "", "minus", where="gate", typed=False),
    Action("reason", "Give reason", "for the skipped hunk, or for all", "tab", where="gate", typed=False),
    Action("edit", "Edit text", "in $EDITOR if it is set", "e", where="gate", typed=False),
    Action("edit_here", "Edit here", "the new text, without $EDITOR", "E", where="gate", typed=False),
    Action("always", "Always allow", "shows the rule first", "A", where="gate", typed=False),
    Action("next_hunk", "Next hunk", "", "right_square_bracket", where="gate", typed=False),
    Action("previous_hunk", "Previous hunk", "", "left_square_bracket", where="gate", typed=False),
    Action("next_waiting", "Next proposal", "", "greater_than_sign", where="gate", typed=False),
    Action("previous_waiting", "Previous proposal", "", "less_than_sign", where="gate", typed=False),
    Action("split", "Toggle split", "side by side, or unified", "s", where="gate", typed=False),
    Action("full", "Toggle full height", "", "f", where="gate", typed=False),
    Action("around", "Show context", "the unchanged lines near this hunk", "o", where="gate", typed=False),
    Action("whole", "Show whole file", "", "w", where="gate", typed=False),
    Action("again", "Ask model again", "in a conflict", "r", where="gate", typed=False),
    Action("mine", "Keep your version", "in a conflict", "m", where="gate", typed=False),
    Action(
        "detail", "Show details", "of the selected row; or the list", "enter", hint="open", where="board", typed=False
    ),
    Action("confirm", "Confirm finding", "", "c", hint="confirm", where="board", typed=False),
    Action("refute", "Refute finding", "", "x", hint="refute", where="board", typed=False),
    Action("evidence", "Request evidence", "for the finding", "v", hint="evidence", where="board", typed=False),
    Action("merge", "Merge findings", "press it on each of the two", "m", hint="merge", where="board", typed=False),
    Action("item", "Add item", "url, file or value", "a,plus", takes="KIND VALUE", hint="add", where="board"),
    Action("lens", "Add lens", "its name and its prompt", "L", takes="NAME PROMPT", hint="lens", where="board"),
    Action("skip", "Skip item", "of the queue", "s", hint="skip", where="board", typed=False),
    Action("only", "Filter findings", "by verdict", "f", hint="filter", where="board", typed=False),
    Action("view", "Next view", "", "tab", hint="views", where="board", typed=False),
    Action("copy_row", "Copy row", "", "y", hint="copy", where="board", typed=False),
)

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}
_TYPED: Mapping[str, Action] = {action.slash: action for action in ACTIONS if action.typed} | {
    "wheel": BY_NAME["wheel"]
}


def keys_of(place: str, remaps: Mapping[str, str]) -> dict[str, str]:
    """Map each key of `gate` or `board` to the name of its action."""
    found: dict[str, str] = {}
    for action in ACTIONS:
        if action.where == place:
            for key in remaps.get(action.name, action.keys).split(","):
                found[key.strip()] = action.name
    return found


def slash_commands() -> list[Action]:
    """Return the actions that have a slash command, in the order of the table."""
    return [action for action in ACTIONS if action.typed]


def parse_slash(text: str) -> tuple[Action | None, str]:
    """Split `/limit usd 2` into the action `limit` and `usd 2`. The action is None if there is no such command."""
    name, _, argument = text.removeprefix("/").partition(" ")
    return _TYPED.get(name.strip().replace("-", "_")), argument.strip()


def keymap(remaps: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the remaps that name an action, and an error line for each other one."""
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
    """Return the first key in display form: `^p`, `⇧tab`, `F2`."""
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
