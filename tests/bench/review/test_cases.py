"""The planted defects: there are enough of each kind, and each can be made again where the projects are."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from .cases import Kind, all_cases, make, mirror_of

FOLDER = os.environ.get("RUNDRY_REVIEWS", "")


def test_there_are_at_least_twenty_diffs_of_five_kinds():
    kinds = Counter(case.kind for case in all_cases())
    assert set(kinds) == set(get_args(Kind)) and min(kinds.values()) >= 4 and kinds.total() >= 20
    for case in all_cases():
        re.compile(case.pattern)
        assert len(case.commit) == 40 and len(case.replace) < 40, "no text of a project is stored"


@pytest.mark.skipif(not FOLDER, reason="RUNDRY_REVIEWS does not name the folder of the projects")
@pytest.mark.long
def test_each_defect_is_planted_in_a_line_that_the_diff_has(tmp_path: Path):
    for number, case in enumerate(all_cases()):
        mirror = mirror_of(case, Path(FOLDER))
        assert mirror is not None, case.repo
        make(case, mirror, folder := tmp_path / str(number))
        diff = subprocess.run(
            ["git", "diff", "-U0", "HEAD", "--", case.path], cwd=folder, capture_output=True, text=True, check=True
        )
        ranges = re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff.stdout, re.MULTILINE)
        assert any(int(start) <= case.line < int(start) + int(count or 1) for start, count in ranges), case
