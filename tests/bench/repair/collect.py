"""Lay out programs with passing tests as tasks: exercises of exercism/python, and modules of packages with their tests.

    cd tests && python -m bench.repair.collect --exercism CHECKOUT --out FOLDER
    cd tests && python -m bench.repair.collect --package SDIST/cachetools --package SDIST/toolz --out FOLDER

Program and tests stay byte for byte as they are; of tests, only a relative import is made absolute. A module of a
package stands alone as the program, its siblings are in `rest`, and a small file with the package's name joins them.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path

JOIN = '''"""The package, of which one module is next to this file and the others are in `rest`."""

from pathlib import Path

__path__ = [str(Path(__file__).parent), str(Path(__file__).parent / "rest")]

'''


def exercism(checkout: Path, out: Path) -> None:
    """Lay out each exercise that has one example and one file of tests."""
    for folder in sorted((checkout / "exercises/practice").iterdir()):
        files = json.loads((folder / ".meta/config.json").read_text())["files"]
        if [len(files[kind]) for kind in ("solution", "test", "example")] == [1, 1, 1] and not files.get("editor"):
            name = Path(files["solution"][0]).stem
            (out / name).mkdir(parents=True)
            shutil.copyfile(folder / files["example"][0], out / name / f"{name}.py")
            shutil.copyfile(folder / files["test"][0], out / name / f"test_{name}.py")


def package(source: Path, out: Path) -> None:
    """Lay out each module of a package for which there is `test_MODULE.py` in its tests, inside of it or next to it."""
    name, init = source.name, source / "__init__.py"
    tests = next(one for one in (source / "tests", source.parent / "tests") if one.is_dir())
    for module in sorted(source.glob("*.py")):
        test = tests / f"test_{module.name}"
        folder = out / module.stem
        if not test.is_file() or module == init or folder.exists():
            continue
        shutil.copytree(source, folder / "rest", ignore=shutil.ignore_patterns("tests", "__pycache__", module.name))
        (folder / "rest/__init__.py").unlink()
        shutil.copyfile(module, folder / module.name)
        (folder / f"{name}.py").write_text(JOIN + _absolute(init.read_text(), name))
        (folder / test.name).write_text(_absolute(test.read_text(), f"{name}_tests"))
        shutil.copyfile(tests / "__init__.py", folder / f"{name}_tests.py")


def _absolute(text: str, package: str) -> str:
    """Make the relative imports at the left margin absolute."""
    text = re.sub(r"^from \.(\w+) import", rf"from {package}.\1 import", text, flags=re.MULTILINE)
    return re.sub(r"^from \. import", f"from {package} import", text, flags=re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--exercism", metavar="CHECKOUT", type=Path)
    parser.add_argument(
        "--package", metavar="FOLDER", type=Path, action="append", default=[], help="of an unpacked sdist"
    )
    asked = parser.parse_args()
    if asked.exercism is not None:
        exercism(asked.exercism, asked.out)
    for source in asked.package:
        package(source, asked.out)


if __name__ == "__main__":
    main()
