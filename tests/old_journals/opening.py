"""Open a recorded journal in a folder of the test, as if it had been written there."""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fakes.rundry import Home

from rundry.agent.journal.integrity.chain import START, digest_of
from rundry.agent.journal.integrity.checksums import META_DIGEST, command_digest, meta_digest
from rundry.agent.journal.integrity.journal_tail import open_tail, read_tail
from rundry.agent.journal.integrity.stored_faults import item_digest
from rundry.agent.search.items.frontier_view import hash_of

FOLDER = Path(__file__).parent
PLACE = "/tmp/recorded"
"""Where the runs took place (record.py)."""
_ITEM = "item_digest(hash, key, kind, value, source, state, place, attempts, due, error)"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))


@dataclass
class Recorded:
    """A run of commit bfd0fbbe, and what it left."""

    home: Home
    project: Path

    @property
    def journal(self) -> Path:
        (path,) = self.home.journals()
        return path

    @property
    def run_id(self) -> str:
        return self.journal.stem


def unpack(name: str, folder: Path) -> Recorded:
    """Lay out an archive as it was recorded. The journal names a workspace that does not exist."""
    home = Home(folder)
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="fully_trusted")
    return Recorded(home, folder / "project")


def moved(name: str, folder: Path) -> Recorded:
    """Lay out an archive, and put this folder in the place of the recorded one, with all checksums."""
    found = unpack(name, folder)
    for path in (*folder.glob("project/.git/worktrees/*/gitdir"), *folder.glob("worktrees/**/.git")):
        if path.is_file():
            path.write_text(path.read_text().replace(PLACE, str(folder)))
    _move_journal(found.journal, str(folder))
    return found


def _move_journal(journal: Path, place: str) -> None:
    with closing(sqlite3.connect(journal)) as raw:
        for (table,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            columns = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
            for column in () if table == "blobs" else columns:
                raw.execute(
                    f"UPDATE {table} SET {column} = CASE typeof({column})"
                    f" WHEN 'blob' THEN CAST(replace(CAST({column} AS TEXT), ?1, ?2) AS BLOB)"
                    f" ELSE replace({column}, ?1, ?2) END WHERE instr(CAST({column} AS TEXT), ?1)",
                    (PLACE, place),
                )
        digests, before = {0: START}, START
        for seq, *fields in raw.execute("SELECT seq, at, step, work, type, body FROM events ORDER BY seq").fetchall():
            digests[seq] = before = digest_of(before, seq, *fields)
            raw.execute("UPDATE events SET digest = ? WHERE seq = ?", (before, seq))
        for number, at, body in raw.execute("SELECT id, at, body FROM commands").fetchall():
            raw.execute("UPDATE commands SET digest = ? WHERE id = ?", (command_digest(at, body), number))
        meta = raw.execute("SELECT key, value FROM meta").fetchall()
        raw.execute("UPDATE meta SET value = ? WHERE key = ?", (meta_digest(meta), META_DIGEST))
        if raw.execute("SELECT 1 FROM sqlite_schema WHERE name = 'frontier_sum'").fetchone():
            raw.create_function("hash_of", 1, hash_of)
            raw.create_function("item_digest", -1, item_digest)
            raw.execute("UPDATE frontier SET hash = hash_of(key)")
            raw.execute(f"UPDATE frontier_sum SET digest = (SELECT sum({_ITEM}) FROM frontier)")
        raw.commit()
    if (tail := read_tail(journal)) is not None:
        writer = open_tail(journal)
        writer.write(tail.seq, digests[tail.seq], tail.spent, sync=False)
        writer.close()
