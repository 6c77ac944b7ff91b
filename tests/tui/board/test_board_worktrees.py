"""The board of a migration with worktrees."""

from __future__ import annotations

from fakes.played_events import started
from fakes.views.board_rows import board_data, line, seen, shown
from fakes.views.lens_search import Search

from rundry.agent import (
    FinderSpec,
    JoinFinished,
    LoopKind,
    ProposalOpened,
    Recipe,
    ToolCalled,
    WorkStarted,
    WorktreeFinished,
    WorktreeStarted,
)
from rundry.agent.protocol import item_tree_name
from rundry.tui.gate.proposal_words import name


def migration(script: Search):
    finder = FinderSpec(recipe=Recipe.MIGRATE, check="true", globs=["*"], parallel=2, concurrency=4, sceptics=0)
    return script.stamp(started("make every file pass", loop=LoopKind.UNTIL_DRY, finder=finder))


def test_each_file_in_work_is_named_with_its_worktree_and_what_happens_there():
    script = Search()
    stamped = migration(script)
    for number in (1, 2, 3):
        key = f"/project/src/{number}.py"
        stamped += script.of(f"item:{key}", WorkStarted(kind="item", about=key))
        if number < 3:
            stamped += script.of(f"item:{key}", WorktreeStarted(tree=number, key=key, place=f"/trees/{number}"))
    edit = ToolCalled(call_id="c", tool="edit_file", arguments={"path": "src/2.py", "edits": []})
    stamped += script.of(item_tree_name(2, "/project/src/2.py"), edit)
    whole = shown(board_data(seen(stamped)), 120, 34)
    assert "worktree 1" in line(whole, "src/1.py")
    assert "worktree 2  edit src/2.py" in line(whole, "src/2.py", "worktree")
    assert "waits for a worktree" in line(whole, "src/3.py")
    key = "/project/src/1.py"
    stamped += script.of(f"item:{key}", JoinFinished(tree=1, key=key, files=["src/1.py"]))
    stamped += script.of(f"item:{key}", WorktreeFinished(tree=1, key=key, why="its changes were merged"))
    assert "worktree 1" not in shown(board_data(seen(stamped)), 120, 34)


def test_a_conflict_and_a_patch_that_was_not_joined_are_lines_of_the_transcript():
    script, key = Search(), "/project/a.py"
    stamped = migration(script)
    stamped += script.of(f"item:{key}", JoinFinished(tree=1, key=key, conflicts=["a.py: it is not text"]))
    stamped += script.of(f"item:{key}", WorktreeFinished(tree=1, key=key, why="its work was interrupted", patch="ab12"))
    blocks = [(block.title or block.text, block.right, block.detail) for block in seen(stamped).blocks]
    assert (f"worktree 1: the changes for {key} are worked again", "1 conflict", "a.py: it is not text") in blocks
    assert any(title == "worktree 1: its work was interrupted" and "ab12" in detail for title, _, detail in blocks)


def test_a_proposal_names_its_worktree_and_the_file_of_its_item():
    def proposal(path: str) -> ProposalOpened:
        return ProposalOpened(
            proposal_id="p", tool="edit_file", digest="d", call_id="c", path=path, who="worktree 2, src/a.py"
        )

    assert name(proposal("src/a.py")).startswith("worktree 2: edit src/a.py")
    assert name(proposal("src/b.py")).startswith("worktree 2, src/a.py: edit src/b.py")
