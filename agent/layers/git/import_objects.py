"""Import objects into a repository as git's receive-pack does: check them in a separate folder, then move them in."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Collection
from pathlib import Path

from ...host.plain_files import reader_of
from ...repo.real_git import RealGit, RealGitFailed
from ..open_below import open_below
from ..removing import remove_tree

_PIECE = 1 << 20
_UNPACKED = 100
"""A push of at least this number of objects stays a pack (git-config(1), `transfer.unpackLimit`)."""
_LAST = (".pack", ".rev", ".idx")
"""An index comes last: with it git sees the pack."""


class BadObjects(Exception):
    """The objects are not what their names say, or some are missing. The message has git's reason."""


def take_objects(git: RealGit, common: Path, pack: Path | None, ids: Collection[str], blobs: Collection[str]) -> None:
    """Add the objects of a pack, so that the repository has `ids`, all that they need, and the files `blobs`.

    Nothing is added if something is missing, is not what its name says, or breaks a rule of git-fsck(1). Raises
    BadObjects and OSError.
    """
    store = common / "objects"
    # git removes such a folder when it is two weeks old (git-prune(1)), should rundry be killed here.
    apart = store / f"tmp_objdir-incoming-{secrets.token_hex(8)}"
    apart.mkdir(mode=0o700)
    more = {
        "GIT_OBJECT_DIRECTORY": str(apart),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted_folder(str(store)),
        "GIT_QUARANTINE_PATH": str(apart),
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
    try:
        if pack is not None:
            with pack.open("rb") as file:
                count = int.from_bytes(file.read(12)[8:], "big")
            few = ("unpack-objects", "--strict", "-q")
            with pack.open("rb") as file:
                if count:
                    git.run(
                        *(few if count < _UNPACKED else ("index-pack", "--strict", "--stdin")), stdin=file, more=more
                    )
        asked = "".join(f"{one}\n" for one in sorted({*ids, *blobs})).encode()
        walk = ("rev-list", "--objects", "--stdin", "--quiet", "--exclude-promisor-objects", "--not", "--all")
        if asked:
            git.run(*walk, stdin=asked, more=more)
        asked = "".join(f"{one}\n" for one in sorted(blobs)).encode()
        found = git.run("cat-file", "--batch-check", "--buffer", stdin=asked, more=more).splitlines() if blobs else []
        if any(line.split(b" ")[1:2] != [b"blob"] for line in found):
            raise BadObjects("an entry of the index is not a file")
        _move_in(apart, store)
    except RealGitFailed as error:
        raise BadObjects(str(error)) from None
    finally:
        remove_tree(apart)


def copy_large(upper: int, path: bytes, target: Path) -> bool:
    """Copy a file of git-lfs out of a layer. Return False if its content is not what its name says. Raises OSError."""
    digest = hashlib.sha256()
    source = open_below(upper, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    with reader_of(source) as file, target.open("wb") as copy:
        if stat.S_ISREG(os.fstat(source).st_mode):
            while piece := file.read(_PIECE):
                digest.update(piece)
                copy.write(piece)
    if digest.hexdigest() == os.fsdecode(path.rpartition(b"/")[2]):
        return True
    target.unlink()
    return False


def take_large(copies: Path, common: Path) -> None:
    """Add the files that `copy_large` made to the files of git-lfs. Raises OSError."""
    for file in sorted(copies.iterdir()):
        place = common / "lfs/objects" / file.name[:2] / file.name[2:4] / file.name
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            making = place.with_name(f"{file.name}.{secrets.token_hex(4)}.tmp")
            shutil.copyfile(file, making)
            making.rename(place)


def _move_in(apart: Path, store: Path) -> None:
    """Move files into the store; what is there already stays."""
    files = [path for path in apart.rglob("*") if path.is_file() and not path.name.startswith("tmp_")]
    for path in sorted(files, key=lambda path: _LAST.index(path.suffix) if path.suffix in _LAST else 0):
        place = store / path.relative_to(apart)
        if not place.parent.exists():
            place.parent.mkdir(exist_ok=True)
            place.parent.chmod(path.parent.stat().st_mode & 0o7777)
        try:
            os.link(path, place)
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            if not place.exists():
                path.rename(place)


def quoted_folder(path: str) -> str:
    """Return a path for GIT_ALTERNATE_OBJECT_DIRECTORIES (git(1)); one with `:` needs quotes."""
    if ":" not in path and not path.startswith('"'):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
