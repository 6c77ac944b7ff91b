"""The actions of lists, dialogs and pages, and the keys that move through a part of the screen. None is typed."""

from __future__ import annotations

from .action import Action, Place


def _actions(where: Place, *rows: tuple[str, str, str, str]) -> tuple[Action, ...]:
    return tuple(
        Action(name, label, detail, keys, where=where, typed=False, hint=label.lower())
        for name, label, detail, keys in rows
    )


_MESSAGE = _actions(
    "message",
    ("older_message", "Earlier message", "on the first line; the queued one first", "up"),
    ("newer_message", "Later message", "on the last line; then the board", "down"),
    ("paste_image", "Attach clipboard image", "or paste what was copied here", "ctrl+v"),
    ("search_history", "Search history", "what was sent earlier", "ctrl+r"),
    ("page_above", "Page up", "what stands above the box", "pageup"),
    ("page_below", "Page down", "what stands above the box", "pagedown"),
    ("first_entry", "Go to start", "of the transcript", "ctrl+home"),
    ("last_entry", "Go to end", "of the transcript", "ctrl+end"),
    ("end_input", "Leave", "in an empty box", "ctrl+d"),
)
_SUGGESTIONS = _actions(
    "suggestions",
    ("suggestion_up", "Row above", "", "up"),
    ("suggestion_down", "Row below", "", "down"),
    ("suggestion_take", "Insert", "the selected suggestion", "tab,enter"),
    ("suggestion_close", "Close list", "the text stays", "escape"),
)
_LINE = _actions(
    "line",
    ("line_keep", "Keep text", "or send it", "enter"),
    ("line_drop", "Go back", "without it", "escape"),
)
_ROWS = _actions(
    "rows",
    ("row_up", "Row above", "", "up,k"),
    ("row_down", "Row below", "", "down,j"),
    ("rows_up", "Page up", "", "pageup"),
    ("rows_down", "Page down", "", "pagedown"),
    ("first_row", "First row", "", "home,g"),
    ("last_row", "Last row", "", "end,G"),
    ("previous_view", "Previous view", "", "left,shift+tab"),
    ("following_view", "Next view", "", "right"),
    *((f"view_{number}", f"View {number}", "as numbered on the board", str(number)) for number in range(1, 7)),
)
_SCROLL = _actions(
    "scroll",
    ("scroll_up", "Scroll up", "", "up"),
    ("scroll_down", "Scroll down", "", "down"),
    ("scroll_page_up", "Page up", "", "pageup"),
    ("scroll_page_down", "Page down", "", "pagedown"),
    ("scroll_start", "Go to start", "", "home"),
    ("scroll_end", "Go to end", "", "end"),
)
_LIST = _actions(
    "list",
    ("mark_up", "Row above", "", "up,k"),
    ("mark_down", "Row below", "", "down,j"),
    ("mark_page_up", "Page up", "", "pageup"),
    ("mark_page_down", "Page down", "", "pagedown"),
    ("mark_first", "First row", "", "home,g"),
    ("mark_last", "Last row", "", "end,G"),
    ("take", "Choose", "the selected row", "enter"),
)
_DIALOG = _actions(
    "dialog",
    ("close_dialog", "Close", "nothing is chosen; a letter is typed where text is", "escape,q"),
    ("answer_yes", "Yes", "in a dialog that asks", "y"),
    ("answer_no", "No", "in a dialog that asks", "n"),
)
_SESSIONS = _actions(
    "sessions",
    ("session_watch", "Watch", "without control", "f2"),
    ("session_fork", "Fork", "a copy of the run", "f5"),
    ("session_export", "Export", "a page, next to the run", "f6"),
    ("session_delete", "Delete", "press it twice", "delete"),
    ("session_folders", "All folders", "or only this one", "tab"),
)
_REWIND = _actions("rewind", ("rewind_steps", "Show steps", "or only messages", "tab"))
_CHANGES = _actions(
    "changes",
    ("undo_file", "Undo file", "press it twice", "u"),
    ("undo_files", "Undo all", "press it twice", "U"),
    ("changes_next", "Next hunk", "", "right_square_bracket"),
    ("changes_previous", "Previous hunk", "", "left_square_bracket"),
    ("changes_split", "Side by side", "or unified", "v"),
    ("changes_around", "Show context", "the unchanged lines", "o"),
    ("changes_page", "Page down", "", "space"),
)
_COMMIT = _actions("commit", ("commit_edit", "Edit message", "in $EDITOR", "e"))
_LEAVE = _actions(
    "leave",
    ("keep_running", "Keep running", "`rundry watch` attaches again", "b"),
    ("wrap_up", "Wrap up", "then leave", "w"),
    ("stop_now", "Stop now", "and leave", "s"),
)
_STAGE = _actions(
    "leave",
    ("stage_apply", "Apply stage", "shows it first", "a"),
    ("stage_drop", "Drop stage", "the workspace stays as it is", "d"),
)
_HANDOFF = _actions(
    "handoff",
    ("handoff_resume", "Resume with hint", "", "r"),
    ("handoff_copy", "Copy as Markdown", "", "y"),
    ("handoff_down", "Scroll down", "", "j"),
    ("handoff_up", "Scroll up", "", "k"),
    ("handoff_page", "Page down", "", "space"),
)
_REPLAY = _actions(
    "replay",
    ("replay_play", "Play or pause", "", "space"),
    ("replay_speed_1", "1x", "", "1"),
    ("replay_speed_2", "4x", "", "2"),
    ("replay_speed_3", "16x", "", "3"),
    ("replay_speed_4", "64x", "", "4"),
    ("replay_faster", "Faster", "", "plus,equals_sign"),
    ("replay_slower", "Slower", "", "minus"),
    ("replay_step_back", "Previous step", "", "left"),
    ("replay_step", "Next step", "", "right"),
    ("replay_event_back", "Previous event", "", "comma"),
    ("replay_event", "Next event", "", "full_stop"),
    ("replay_start", "Go to start", "", "home"),
    ("replay_end", "Go to end", "", "end"),
    ("replay_page_up", "Page up", "", "pageup"),
    ("replay_page_down", "Page down", "", "pagedown"),
    ("replay_unfold", "Unfold", "", "ctrl+o"),
    ("replay_board", "Toggle board", "", "ctrl+l"),
    ("replay_leave", "Leave", "", "escape,q"),
)

DIALOG_ACTIONS: tuple[Action, ...] = (
    *_MESSAGE, *_SUGGESTIONS, *_LINE, *_ROWS, *_SCROLL, *_LIST, *_DIALOG, *_SESSIONS, *_REWIND, *_CHANGES,
    *_COMMIT, *_LEAVE, *_STAGE, *_HANDOFF, *_REPLAY,
)  # fmt: skip
