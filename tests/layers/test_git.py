"""What git commands in a layer did arrives in the repository as if they had been run there."""

from __future__ import annotations

import pytest

from .conftest import Bench
from .gitting import same_as_direct

CASES = r"""
git status; git diff > /dev/null; git log > /dev/null; git fetch -q . 2> /dev/null

git commit -qm more

echo x >> a.txt; git commit -qam more; git commit -q --amend -m again; git tag v2; git tag -a v3 -m note

git add new.txt src/c.txt; git rm -q b.txt; git mv a.txt moved.txt; chmod +x s* ; git add .

git stash push -qum two; git stash push -q --allow-empty 2> /dev/null || true; echo again > b.txt
git stash push -qm three

git checkout -q -- src/c.txt; git reset -q --hard; git stash pop -q; git stash push -qm other
git stash list > /dev/null

git reset -q --hard; git stash drop -q

git reset -q --hard; git merge -q -m merged old; git merge side -qm merged || true

git reset -q --hard; git merge side -qm merged || true; echo solved > a.txt; git add a.txt
git commit -qm solved

git reset -q --hard; git rebase -q side || true; git status > /dev/null

git reset -q --hard; git rebase -q side || true; echo solved > a.txt; git add a.txt
git rebase --continue > /dev/null

git reset -q --hard; git rebase -q side || true; git rebase --abort

git reset -q --hard; git cherry-pick side > /dev/null; git revert --no-edit HEAD > /dev/null

git reset -q --hard; git cherry-pick side~1 side > /dev/null 2>&1 || true

git reset -q --hard; git revert --no-edit HEAD~1 > /dev/null 2>&1 || true

git stash -q; git switch -q side; git switch -qc topic; echo t > t2; git add t2; git commit -qm topic
git switch -q main; git stash pop -q

git checkout -qb feature/one; git commit -qm one; git branch -q feature/two; git branch -m old older

git branch -D gone old > /dev/null; git branch old/er; git tag -d v1 > /dev/null
git update-ref refs/notes/x HEAD

git reset -q --hard; git checkout -q --detach side; echo x > x; git add x; git commit -qm loose

git commit -qm more; git gc -q --prune=now; git pack-refs --all; git repack -adq

git gc -q --prune=now; git commit -qm after; git commit-graph write 2> /dev/null
git multi-pack-index write

git reset -q --hard HEAD~1; git reset -q --soft v1

git stash -q; git bisect start -q HEAD v1 > /dev/null; git bisect bad > /dev/null || true

git stash -q; git format-patch -q -1 side~1 -o out; git am -q out/* || true

git notes add -m note; git commit -qm more --allow-empty; git worktree list
git rev-parse --verify -q HEAD > /dev/null

git symbolic-ref HEAD refs/heads/orphan; git add -A; git commit -qm root

for n in $(seq 150); do echo $n > many$n; done; git add .; git commit -qm many; git branch many

printf x > "$(printf 'two\nlines')"; printf y > "$(printf 'bad\377')"; ln -s a.txt link; git add -A
git commit -qm names

git update-index --assume-unchanged a.txt; git update-index --no-assume-unchanged a.txt
git checkout -q stash@{0} -- b.txt

git reset -q --hard; git config merge.conflictStyle diff3
git merge --squash side > /dev/null 2>&1 || true; git config --unset merge.conflictStyle
""".strip().split("\n\n")
"""Each is run in a layer and in a copy."""


@pytest.mark.parametrize("script", CASES)
def test_git_commands_in_a_layer_do_what_they_do_outside(bench: Bench, script: str):
    same_as_direct(bench, script)
