"""Guarded files behind links to folders."""

from __future__ import annotations

from rundry.agent.workspace.seals.links import LinkedFiles, through_links


def test_files_behind_a_link_are_guarded_and_a_link_to_too_many_is_named(tmp_path):
    outside, root = tmp_path / "outside", tmp_path / "project"
    root.mkdir()
    for number in range(30):
        (outside / f"folder-{number}").mkdir(parents=True)
        (outside / f"folder-{number}/test_one.py").touch()
    (root / "tests").symlink_to(outside)
    enough, few = LinkedFiles(left=1_000), LinkedFiles(left=20)
    found = list(through_links(root, "tests", lambda path: path.endswith(".py"), enough))
    assert (len(found), found[0], enough.cut) == (32, "tests", set())
    assert len(list(through_links(root, "tests", lambda path: path.endswith(".py"), few))) < 20
    assert few.cut == {"tests"}


def test_a_link_to_the_root_of_the_file_system_is_not_listed_without_end(tmp_path):
    (tmp_path / "tests").symlink_to("/")
    linked = LinkedFiles(left=500)
    assert list(through_links(tmp_path, "tests", lambda path: False, linked)) == ["tests", "/"]
    assert linked.cut == {"tests"}


def test_the_journals_behind_a_link_are_not_guarded(tmp_path):
    home, root = tmp_path / "home", tmp_path / "project"
    for path in (home / "runs/one.db-wal", home / "conftest.py"):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    root.mkdir()
    for name, target in (("all", home), ("runs", home / "runs")):
        (root / name).symlink_to(target)
        linked = LinkedFiles(private=frozenset({str(home / "runs")}))
        found = list(through_links(root, name, lambda path: True, linked))
        assert str(home / "runs/one.db-wal") not in found
