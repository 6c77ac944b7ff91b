"""What a diff pane shows: the rows, the current hunk, the folds next to it, the marks. Does not import textual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..lines.line_parts import Place
from .renderer import DiffRenderer, HunkMark, RenderOptions

if TYPE_CHECKING:
    from ..lines.draw_runs import Run
    from ..theme.theme import Palette
    from .diff_rows import Diff, Hunk, Row


class DiffView:
    """The state of a diff pane. It starts empty, and `clear` makes it empty again."""

    def __init__(self) -> None:
        self.renderer: DiffRenderer | None = None
        """What draws the rows, or None if nothing is known of the change yet."""
        self.marks: dict[int, HunkMark] = {}
        """The mark of each hunk, by its index. A hunk without one has no symbol."""
        self.current = 0
        """Index of the current hunk."""
        self.is_split = False
        """The rows are laid out side by side."""
        self._near: tuple[int, ...] = ()

    def clear(self) -> None:
        """Forget the change that is shown, with its marks."""
        self.renderer, self.marks, self.current, self._near = None, {}, 0, ()

    @property
    def diff(self) -> Diff | None:
        """The diff that is shown, or None until it is complete."""
        return self.renderer.diff if self.renderer and self.renderer.diff.complete else None

    @property
    def rows(self) -> Sequence[Row]:
        """The rows that are known so far."""
        return self.renderer.diff.rows if self.renderer else ()

    @property
    def hunks(self) -> list[Hunk]:
        """The hunks that are known so far."""
        return self.renderer.diff.hunks if self.renderer else []

    def options(self, width: int, palette: Palette) -> RenderOptions:
        """Return how rows are drawn now."""
        return RenderOptions(width, palette, self.marks, self.current, self._near, self.is_split)

    def heights(self, rows: Sequence[Row]) -> list[int]:
        """Return the number of lines of each row, as far as it is known before the row is drawn."""
        if not self.is_split:
            return [1] * len(rows)
        return [0 if row.beside < 0 else 1 + row.lead for row in rows]

    def hunk_at(self, row: int) -> int | None:
        """Return the index of the hunk that a row belongs to, or None."""
        return next((n for n in reversed(range(len(self.hunks))) if self.hunks[n].row <= row), None)

    def make_current(self, hunk: int) -> list[int]:
        """Make this hunk the current one. Return the rows that change; none if it was already the current one."""
        if hunk == self.current or not 0 <= hunk < len(self.hunks):
            return []
        before, self.current = self.current, hunk
        near = self._near
        self.find_near_folds()
        return [*near, *self._near, self.hunks[before].row, self.hunks[hunk].row]

    def find_near_folds(self) -> None:
        """Find the folds next to the current hunk again, after rows were added or removed."""
        self._near = tuple(self.renderer.diff.folds_of(self.current)) if self.renderer else ()

    def hunk_among(self, rows: Sequence[int]) -> int | None:
        """Return the hunk of these rows that is nearest to the current one, or None if no hunk has a row among them."""
        found = [self.rows[row].hunk for row in rows if self.rows[row].hunk >= 0]
        return min(max(self.current, found[0]), found[-1]) if found else None

    def has_current(self, rows: Iterable[int]) -> bool:
        """Return whether one of these rows belongs to the current hunk."""
        return any(self.rows[row].hunk == self.current for row in rows if row < len(self.rows))

    def is_title(self, place: Place) -> bool:
        """Return whether the title of the current hunk is at this place."""
        return self.current < len(self.hunks) and place == Place(self.hunks[self.current].row)

    def title(self, width: int, palette: Palette) -> list[Run]:
        """Return the title of the current hunk in one line, or an empty text if no hunk is known yet."""
        if self.renderer is None or self.current >= len(self.hunks):
            return []
        return self.renderer.draw(self.hunks[self.current].row, width, palette, self.marks, self.current)[0]

    def folds(self) -> list[int]:
        """Return the rows of the closed folds next to the current hunk; if none is closed, of the open ones."""
        found = self.renderer.diff.folds_of(self.current) if self.renderer else []
        return [row for row in found if self.rows[row].kind == "fold"] or found

    @property
    def has_open_folds(self) -> bool:
        """Whether unchanged lines that were folded are shown."""
        return self.diff is not None and any(row.kind == "open" for row in self.rows)

    def close_all_folds(self) -> None:
        """Fold all unchanged lines again."""
        if self.diff is not None:
            self.diff.fold_all()
        self.find_near_folds()

    def toggle_fold(self, row: int) -> int:
        """Open or close the fold at a row. Return how many rows were added below it; negative: removed."""
        assert self.renderer is not None
        diff = self.renderer.diff
        change = diff.unfold(row) or -diff.fold(row)
        self.find_near_folds()
        return change

    def toggle_all_folds(self) -> bool:
        """Open all folds, or close them if none is closed. Return False if the unchanged lines are not available."""
        diff = self.diff
        if diff is None or diff.source is None:
            return False
        if any(row.kind == "fold" for row in diff.rows):
            diff.unfold_all()
        else:
            diff.fold_all()
        self.find_near_folds()
        return True
