"""The panel above the message box after the end of a run: its result, and the keys for the next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from rich.style import Style
from textual import events
from textual.app import App
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from rundry.agent import (
    CHAT_ENDED,
    RundryError,
    RunEnded,
    ViewState,
    as_of_now,
    deciding_chat,
    end_word,
    held_words,
    is_ended_chat,
)

from ..control.end_words import (
    JOBS_ENDED,
    OF_CHAT,
    Changed,
    changed_words,
    cost_words,
    next_words,
    offered,
    plan_words,
    proof_rows,
    search_words,
    sign_of,
    verdict_words,
)
from ..keys.letters import Left, LetterKeys
from ..keys.lookup import BY_NAME, READ_ONLY_ACTIONS, keys_of, shown_key
from ..lines.draw_runs import Run, fold, shorten, to_strip, width_of
from ..theme.theme import Palette, palette_of

if TYPE_CHECKING:
    from ..control.run_controller import RunController

_FIELD = 13
"""Width of the reason, so that the rows below it are aligned."""
_NARROW = 70
_HANG = 2
"""On a narrow screen, further rows of a fact are set in by this."""
_TALL = 30
"""Height of the screen from which each fact about files has two rows, like the others."""
_OF_FILES = ("opened", "undecided", JOBS_ENDED)
_OF_CHANGES = (*_OF_FILES, "look first")
"""Facts that a result which is not judged as passed has, too: on a low screen, the next step alone says what to do."""


class EndPanel(Widget, can_focus=True):
    """The facts about the end on one screen. It has the focus until the person types."""

    DEFAULT_CSS = """
    EndPanel { height: 1; display: none; padding: 0 1; margin: 1 0 0 0; }
    """

    class Chosen(Message):
        """Posted when the person chose what to do next."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, controller: RunController, keymap: Mapping[str, str]) -> None:
        super().__init__(id="ended")
        self._controller, self._keymap, self._keys = controller, keymap, keys_of("end", keymap)
        self._letters = _Letters(self)
        self._ended: RunEnded | None = None
        self._recorded: RunEnded | None = None
        """The end of which `_ended` is the present state."""
        self._is_short = False
        """Only the verdict is shown: a proposal waits, and the room is for it."""
        self._in_stage: bool = False
        """Whether the run worked in a stage when this was drawn."""
        self._drawn_committed = False
        self._chat_decides = False
        """The chat of this child run is about to ask about what is staged."""
        self._changed: Changed | None = None
        self._counted_at = 0
        """Number of the newest event when the changed lines were counted."""
        self._names: Sequence[str] = ()
        self._rows: list[list[Run]] = []
        self._places: list[tuple[int, int, int, str]] = []
        """Row, first and last column of each key, and its action."""

    @property
    def _way_back(self) -> str:
        """The key that leads from the view of a child run to that of its parent."""
        return self._keymap.get("interrupt", BY_NAME["interrupt"].keys)

    def on_mount(self) -> None:
        """Redraw the keys when the focus moves, because they count only while the panel has it."""
        self.watch(self.screen, "focused", self._draw, init=False)

    def show(self, *, may_focus: bool) -> None:
        """Show the end of the run, or nothing while it runs. `may_focus`: a new end takes the focus."""
        ended = self._as_of_now(self._controller.state.outcome)
        is_resuming = self._controller.link.runner_state() == "warming"
        wanted = ended is not None and self._controller.begun and not is_resuming
        if not wanted:
            if self.has_focus:
                self.post_message(Left())
            self._ended = self._recorded = None
            self.display = False
            return
        is_short, in_stage = bool(self._controller.state.proposals), self._controller.state.in_stage
        drawn = (self._is_short, self._in_stage, self._drawn_committed)
        if ended is self._ended and (is_short, in_stage, self._is_committed) == drawn:
            self._count_again(ended)
            return
        self._ended, self._is_short, self._in_stage, self.display = ended, is_short, in_stage, True
        self._counted_at = self._controller.state.last_seq
        self._changed = self._count(ended) if ended is not None else None
        self._draw()
        if is_short and self.has_focus:
            self.post_message(Left())
        elif may_focus and not is_short:
            self.focus()

    def _as_of_now(self, ended: RunEnded | None) -> RunEnded | None:
        """Return the end as it stands with the files that are there now. They are read once for each end."""
        journal = self._controller.link.journal
        if ended is None or journal is None or ended is self._recorded:
            return self._ended if ended is not None and ended is self._recorded else ended
        self._recorded = ended
        try:
            self._chat_decides = bool(ended.staged) and bool(deciding_chat(journal.spec))
        except RundryError:
            self._chat_decides = False
        return as_of_now(ended, journal)

    def _count_again(self, ended: RunEnded | None) -> None:
        """Count the changed lines again if there are new events: an undo after the end changes them."""
        newest = self._controller.state.last_seq
        if ended is None or newest == self._counted_at:
            return
        self._counted_at = newest
        changed = self._count(ended)
        if changed != self._changed:
            self._changed = changed
            self._draw()

    def _count(self, ended: RunEnded) -> Changed | None:
        if not ended.files_changed or self._controller.link.journal is None:
            return None
        try:
            standing = self._controller.reader.changes().standing
        except RundryError:
            return None
        moved = [each for change in standing for each in change.files.items()]
        return Changed(
            files=len({path for path, _ in moved}),
            added=sum(each.added for _, each in moved),
            removed=sum(each.removed for _, each in moved),
        )

    def _has_changes(self, ended: RunEnded) -> bool:
        """Return whether not all changes were undone."""
        return bool(self._changed.files if self._changed is not None else ended.files_changed)

    @property
    def _is_committed(self) -> bool:
        """Whether the person committed the changes here, and nothing happened since."""
        return self._controller.committed_at == self._controller.state.last_seq

    def _draw(self) -> None:
        self._rows, self._places, self._names = [], [], ()
        self._drawn_committed = self._is_committed
        if self._ended is not None and self.size.width:
            state, palette = self._controller.state, palette_of(cast("App[Any]", self.app))
            if self._is_short:
                self._rows = [shorten(self._verdict(state, self._ended, palette), self.size.width)]
            else:
                self._rows = self._facts(state, self._ended, palette)
                self._rows += self._key_rows(state, self._ended, palette)
        # not `height: auto`: Textual keeps the height that it computed before the rows were known
        self.styles.height = max(1, len(self._rows))
        self.refresh()

    def _facts(self, state: ViewState, ended: RunEnded, palette: Palette) -> list[list[Run]]:
        width, none = self.size.width, Style.null()
        indent = 0 if width < _NARROW else _FIELD
        limit = max(2, self.screen.size.height // 6)
        rows = fold(self._verdict(state, ended, palette), width, hang=indent or _HANG, limit=limit)
        lead: list[Run] = [(" " * indent, none)] if indent else []
        if plan := plan_words(state):
            rows += self._fact("plan", plan, palette, limit=1)
        rows += self._proof(ended, palette)
        if found := search_words(state, ended):
            rows.append(shorten([*lead, (found, none)], width))
        changed = changed_words(self._changed, ended, is_brief=width < _NARROW)
        gap, estimated = "   " if width < _NARROW else "      ", state.common.ledger.spent.estimated
        forms: list[list[Run]] = []
        for has_checks in (True, False):
            cost = "   ".join(cost_words(ended, estimated=estimated, has_checks=has_checks))
            forms.append([*lead, (cost, none), (gap, none), (changed, none)])
        rows.append(shorten(next((row for row in forms if width_of(row) <= width), forms[-1]), width))
        if held := held_words(state.common.ledger.spent.held):
            rows += fold([*lead, (held, none)], width, hang=indent)
        if not self._controller.is_read_only:
            words = next_words(state, ended, has_changes=self._has_changes(ended), is_committed=self._is_committed)
            words = OF_CHAT if self._chat_decides else words
            rows += fold([*lead, (words, palette.dim)], width, hang=indent or _HANG)
        return rows

    def _proof(self, ended: RunEnded, palette: Palette) -> list[list[Run]]:
        """Return what proves the result, each fact with its label where there is room."""
        rows = list[list[Run]]()
        is_told = ended.evidence is not None and bool(ended.evidence.judged_why)
        is_tall = self.screen.size.height >= _TALL
        for label, text in proof_rows(ended, helps=False):
            if is_told and label not in (_OF_CHANGES if is_tall else _OF_FILES):  # the verdict or the next step says it
                continue
            rows += self._fact(label, text, palette, limit=1 if label in _OF_FILES and not is_tall else 2)
        return rows

    def _fact(self, label: str, text: str, palette: Palette, *, limit: int) -> list[list[Run]]:
        width = self.size.width
        head = f"{label}: " if width < _NARROW else f"  {label}".ljust(_FIELD)
        line: list[Run] = [(head, palette.dim), (text, Style.null())]
        return fold(line, width, hang=_HANG if width < _NARROW else _FIELD, limit=limit)

    def _verdict(self, state: ViewState, ended: RunEnded, palette: Palette) -> list[Run]:
        sign, meaning = sign_of(ended)
        style = (palette.verdict_good if meaning == "good" else palette.verdict_bad) + Style(bold=True)
        word, detail = end_word(ended), verdict_words(ended, state)
        if is_ended_chat(state.loop, ended):
            sign, style, (word, detail) = "~", palette.bright, CHAT_ENDED
        head, indent = f"{sign} {word}", 0 if self.size.width < _NARROW else _FIELD
        head = head.ljust(indent) if len(head) < indent else f"{head}  "
        return [(head, style), (detail, Style.null())]

    def _key_rows(self, state: ViewState, ended: RunEnded, palette: Palette) -> list[list[Run]]:
        indent, row = 0 if self.size.width < _NARROW else _FIELD, list[Run]()
        has_changes, is_committed = self._has_changes(ended), self._is_committed
        self._names = list(offered(state, ended, has_changes=has_changes, is_committed=is_committed))
        if self._chat_decides:
            self._names = ["parent", "end_export"]
        elif self._controller.came_from_parent:
            self._names = ["parent", *self._names]
        if self._controller.is_read_only:
            self._names = [name for name in self._names if name in READ_ONLY_ACTIONS]
        rows: list[list[Run]] = []
        way, quiet = self._way_here(state), Style.null() if self.has_focus else palette.dim
        if way:
            row = [(" " * indent, Style.null()), (way, palette.needs_you), (" to choose", Style.null())]
            self._places.append((len(self._rows), indent, width_of(row), "to_gate"))
        for name in self._names:
            action = BY_NAME[name]
            keys = self._keymap.get(name, action.keys)
            if self._controller.came_from_parent:  # Esc leads to the parent, as everywhere in such a view
                keys = self._way_back if name == "parent" else keys.replace(f",{self._way_back}", "")
            key = shown_key(keys) or "/parent"
            is_way_back = name == "end_message" and self._controller.is_read_only
            hint = "message box" if is_way_back else action.hint
            word: list[Run] = [(key, palette.needs_you if self.has_focus else palette.dim), (f" {hint}", quiet)]
            if row and width_of(row) + 3 + width_of(word) > self.size.width:
                rows.append(row)
                row = []
            row = [*row, ("   ", Style.null())] if row else [(" " * indent, Style.null())] if indent else []
            start = width_of(row)
            row += word
            self._places.append((len(self._rows) + len(rows), start, width_of(row), name))
        return [*rows, row]

    def _way_here(self, state: ViewState) -> str:
        """Return the key that focuses this panel; empty if it has the focus, or if that key leads elsewhere."""
        focused = self.screen.focused
        elsewhere = state.finder is not None and (focused is None or focused.id != "board")
        return "" if self.has_focus or elsewhere else shown_key(self._keymap.get("to_gate", BY_NAME["to_gate"].keys))

    def on_resize(self) -> None:
        """Arrange the rows for the new width."""
        self._draw()

    def notify_style_update(self) -> None:
        """Draw again in the colours of another theme."""
        super().notify_style_update()
        if self.is_mounted:
            self._draw()

    def render_line(self, y: int) -> Strip:
        """Return one row, as Textual asks for it."""
        if y >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        return to_strip(self._rows[y]).apply_style(self.rich_style).adjust_cell_length(self.size.width, self.rich_style)

    def on_focus(self) -> None:
        """Take the next keys as keys of the panel, and look whether the judged files are still the same."""
        self._recorded = None
        self.show(may_focus=False)
        self._letters.focused()

    async def _on_key(self, event: events.Key) -> None:
        if self._letters.follow(event):
            return
        name = self._keys.get(event.key)
        if event.key == self._way_back and self._controller.came_from_parent:
            name = "parent"
        if name is not None and name in self._names:
            event.stop()
            event.prevent_default()
            if event.is_printable:
                self._letters.hold(name, event)
            else:
                self.post_message(self.Chosen(name))
        elif event.character == "?":
            event.stop()
            self._letters.leave("?")
        elif event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self._letters.write(event.character)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._letters.write(event.text)

    def on_click(self, event: events.Click) -> None:
        """Run the action whose words were clicked."""
        x, y = event.x - self.styles.padding.left, event.y - self.styles.padding.top
        for row, start, end, name in self._places:
            if y == row and start <= x < end:
                self.post_message(self.Chosen(name))


class _Letters(LetterKeys):
    """The letters of the panel that are keys. Each waits briefly, because it may begin a word."""

    def __init__(self, panel: EndPanel) -> None:
        super().__init__(panel)
        self._panel = panel

    def carry_out(self, action: str, at: float) -> None:
        """Report what the person chose."""
        self._panel.post_message(EndPanel.Chosen(action))
