"""The workers of a Dask cluster, with their load and one of the items that each works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import noun_for

from .cells import Row, blank, grouped, left, path, right
from .items import without_host

if TYPE_CHECKING:
    from rundry.agent import ClusterWorker

    from ..board_data import BoardData

_NAME = 22
_LOAD = 6
_ITEMS = 10
_CPU = 6
_MEMORY = 9
_WITH_MEMORY = 68
"""Cells from which on the memory is shown."""


def workers(data: BoardData, width: int, height: int) -> list[Row]:
    """Return a heading and a row for each worker, at most `height` rows; empty for a search without a cluster."""
    executor = data.spec.executor
    if executor is None or height < 2:
        return []
    palette, found = data.palette, data.state.progress.workers
    threads = sum(one.threads for one in found if not one.refused)
    busy = sum(min(one.threads, one.batches) for one in found)
    heading: Row = [("workers", palette.dim), (f"{len(found)}".rjust(4), palette.bright if found else palette.faint)]
    if not found:
        return [heading, [("waiting for the cluster", palette.verdict_partly)]]
    heading += [(f"{busy}/{threads}".rjust(9), palette.bright), (" threads busy", palette.dim)]
    fit = height - 1
    shown = found if len(found) <= fit else found[: max(0, fit - 1)]
    hosts = {one.name.rpartition(":")[0] for one in found}
    skipped = len(hosts.pop()) if len(hosts) == 1 else 0
    rows = [heading, *(_worker(data, one, one.name[skipped:], width) for one in shown)]
    if len(shown) < len(found):
        rows.append([(f"and {len(found) - len(shown)} more", palette.faint)])
    return rows


def _worker(data: BoardData, one: ClusterWorker, name: str, width: int) -> Row:
    """Return the row of a worker. `name`: without the host if all workers have the same one."""
    palette = data.palette
    memory = _MEMORY if width >= _WITH_MEMORY else 0
    busy = min(one.threads, one.batches)
    used = _LOAD + _ITEMS + _CPU + memory
    named = min(_NAME, max(8, len(name) + 1), width - used)
    room = width - used - named - 2
    row: Row = [
        *left([(name, palette.code)], named),
        *right([(f"{busy}/{one.threads}", palette.bright if busy else palette.faint)], _LOAD),
        *right([(f"{grouped(one.items)} {noun_for(one.items, 'item')}", palette.dim)], _ITEMS),
        *right([(f"{one.cpu:.0f} %", palette.dim)], _CPU),
    ]
    if memory:
        row += right([(f"{one.memory / 1_000_000:,.0f} MB", palette.dim)], memory)
    if one.refused and room > 3:
        row += [blank(2), *left([(one.refused, palette.verdict_partly)], room)]
    elif one.doing and room > 3:
        row += [blank(2), *left(path(without_host(data, one.doing), palette.code, palette, room), room)]
    return row
