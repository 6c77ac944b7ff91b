"""Print the text fields whose values look like a closed set.

cd tests && python -m figures.closed_sets
"""

from __future__ import annotations

from ..source import ROOT, code_of, read_tree
from .fields import closed_sets

if __name__ == "__main__":
    for place, values in closed_sets(code_of(read_tree(ROOT))).items():
        print(f"{place}: {', '.join(values)}")
