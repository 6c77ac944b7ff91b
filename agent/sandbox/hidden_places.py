"""The places that commands cannot read: secrets, journals, and those that the user hides or denies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from ..host.real_paths import exists, real_path
from .denied_paths import held_out_paths
from .home_places import home_places, secrets_in
from .secret_places import is_needed, outermost, secret_places, unhidden_variables


class HiddenPlaces(msgspec.Struct, frozen=True):
    """The hidden places at the start of a command. All of them exist, and links are resolved."""

    hidden: Sequence[Path] = ()
    """Hidden places, none inside another, but for those in the workspace."""
    shown: Sequence[Path] = ()
    """Places inside hidden folders that are readable."""
    at_home: Sequence[Path] = ()
    """Readable places in the home folder, as they are named and with links resolved, without hidden places."""
    own: Sequence[Path] = ()
    """Hidden folders that rundry itself changes while commands run."""

    def covers(self, path: Path) -> bool:
        """Return whether commands cannot read the path."""
        return _within(path, self.hidden) and not _within(path, self.shown)


class HideRules(msgspec.Struct, frozen=True, kw_only=True):
    """The places to hide, as the settings name them."""

    own: tuple[Path, ...] = ()
    """rundry's own places, which stay hidden even if the user shows them."""
    hide: tuple[Path, ...] = ()
    show: tuple[Path, ...] = ()
    """Places to show nevertheless. A secret inside one of them stays hidden unless it is named itself."""
    denied: Callable[[Path], Sequence[str]] | None = None
    """Return the paths below a folder, relative to it, that a rule of the user denies."""
    held_out: tuple[str, ...] = ()
    """Globs of the files that only the second check of the run can read."""

    def resolve(self, ws: Path, root: Path | None = None) -> HiddenPlaces:
        """Return the places that exist now, without the workspace itself.

        `root`: the folder that commands see at `ws`, if it is another one.
        """
        show, at_home = _real(self.show), home_places(os.environ, ws)
        always = [*_real(self.own), *self._denied(ws, root or ws), *self._held_out(ws, root or ws)]
        secrets = [*secret_places(os.environ), *_real(secrets_in(at_home)), *self._hide()]
        hidden = [path for path in secrets if path not in show]
        kept = [path for path in (*hidden, *always) if path != ws and (exists(path) or _within(path, [ws]))]
        if root is not None:
            kept = [path for path in kept if not _within(path, [ws]) or exists(root / path.relative_to(ws))]
        shown = [path for path in show if exists(path) and _within(path, kept) and not _within(path, always)]
        there = [path for path in kept if exists(path) or root is not None]
        inside = [path for path in there if _within(path, [ws])]  # also if rundry's own folder, which is hidden, has ws
        hidden = sorted({*outermost([path for path in there if path not in inside]), *outermost(inside)})
        real_own = _real(self.own)
        return HiddenPlaces(hidden, shown, at_home, [path for path in hidden if _is_own(path, ws, real_own)])

    def hidden_in(self, root: Path) -> list[Path]:
        """Return the hidden places in this folder, except those that a `deny` rule hides."""
        found = msgspec.structs.replace(self, denied=None).resolve(root)
        return [place for place in found.hidden if place.is_relative_to(root)]

    def is_own(self, place: Path, ws: Path) -> bool:
        """Return whether this hidden place is a folder of rundry, is inside one or contains one.

        `ws`: the workspace; if it is a copy in a folder of rundry, its own files are not rundry's.
        """
        return _is_own(place, ws, _real(self.own))

    def is_held_out(self, place: Path, root: Path) -> bool:
        """Return whether this hidden place belongs to the second check. `root`: the workspace."""
        return place in self._held_out(root, root)

    def notes(self) -> list[str]:
        """Return a line for each place that commands may see although a variable or the user hides it."""
        needed = [path for path in self.hide if is_needed(real_path(path))]
        hide = [f'[sandbox] hide = "{path}" is ignored: commands need this folder' for path in needed]
        return [*hide, *unhidden_variables(os.environ)]

    def _hide(self) -> list[Path]:
        return [path for path in _real(self.hide) if not is_needed(path)]

    def _denied(self, ws: Path, root: Path) -> list[Path]:
        """Return the denied paths, with links resolved."""
        return [_seen(root / name, ws, root) for name in (self.denied(root) if self.denied is not None else ())]

    def _held_out(self, ws: Path, root: Path) -> list[Path]:
        return [_seen(root / name, ws, root) for name in held_out_paths(self.held_out, root)]


def expand_home(places: Iterable[str]) -> tuple[Path, ...]:
    """Return the paths that a user wrote, with `~` replaced by the home folder."""
    return tuple(Path(place).expanduser() for place in places)


def _seen(path: Path, ws: Path, root: Path) -> Path:
    """Return a path, with links resolved, as commands know it that see the folder `root` at `ws`."""
    real = real_path(path)
    return ws / real.relative_to(root) if real.is_relative_to(root) else real


def _is_own(place: Path, ws: Path, real_own: Iterable[Path]) -> bool:
    own = [one for one in real_own if not (place.is_relative_to(ws) and ws.is_relative_to(one))]
    return any(place.is_relative_to(one) or one.is_relative_to(place) for one in own)


def _within(path: Path, places: Iterable[Path]) -> bool:
    text = f"{path}/"  # compared as texts in a tenth of the time of `Path.is_relative_to`
    return any(text.startswith(f"{str(place).rstrip('/')}/") for place in places)


def _real(paths: Iterable[Path]) -> list[Path]:
    return [real_path(path) for path in paths]
