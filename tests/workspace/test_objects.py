"""The private store of the workspace's states."""

from itertools import takewhile
from pathlib import Path

from rundry.agent.workspace.snapshots.objects import Entry, ObjectStore


def test_trees_that_left_memory_are_read_from_the_store(tmp_path: Path):
    store = ObjectStore(tmp_path / "store")
    trees = [{b"f%d" % n: Entry(0o100644, f"{number * 100 + n:040x}") for n in range(50)} for number in range(200)]
    names = [store.put_tree(tree) for tree in trees]
    in_memory = list(takewhile(lambda pair: store.tree(pair[0]) is pair[1], zip(names[::-1], trees[::-1], strict=True)))
    assert 0 < sum(len(tree) for _, tree in in_memory) <= 2_000
    assert [store.tree(name) for name in names] == trees


def test_a_tree_that_is_larger_than_the_memory_for_trees_is_known_until_the_next(tmp_path: Path):
    store = ObjectStore(tmp_path / "store")
    large = {b"f%d" % n: Entry(0o100644, f"{n:040x}") for n in range(3_000)}
    name = store.put_tree(large)
    assert store.tree(name) is large
    store.put_tree({b"a": Entry(0o100644, "0" * 40)})
    again = store.tree(name)
    assert again is not large and again == large
