"""Hooks of hatchling: the commit in the wheel and the sdist, and a README without pictures for package indexes."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

COMMIT = "_commit.txt"
_HASH = re.compile(r"[0-9a-f]{40}(-changed)?")


class CommitHook(BuildHookInterface[Any]):
    """Write the commit into what is built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file with the commit, if it is known. An editable install asks git each time instead."""
        commit = commit_of(Path(self.root))
        if version == "editable" or not commit:
            return
        with tempfile.NamedTemporaryFile("w", delete=False, suffix=COMMIT) as file:
            file.write(f"{commit}\n")
        self._made = Path(file.name)
        target = f"package/{COMMIT}" if self.target_name == "sdist" else f"rundry/{COMMIT}"
        if (Path(self.root) / "package" / COMMIT).exists():  # a wheel of an sdist has it already
            return
        build_data["force_include"][file.name] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary file."""
        del version, build_data, artifact_path
        if made := getattr(self, "_made", None):
            made.unlink(missing_ok=True)


class ReadmeHook(MetadataHookInterface):
    """Take pictures and relative links out of the README: a package index has neither the files nor the pages."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_files(text)}


def without_files(text: str) -> str:
    """Return the README without pictures, and with the text of a relative link instead of the link."""
    text = re.sub(r"<picture>.*?</picture>\n*", "", text, flags=re.S)
    return re.sub(r"\[([^\]]*)\]\((?!https?://)[^)]*\)", r"\1", text)


def commit_of(root: Path) -> str:
    """Return the commit of a checkout, an sdist or a git archive, or an empty text if none of them is here."""
    if (root / ".git").exists():
        commit = _git(root, "rev-parse", "HEAD")
        changed = "-changed" if commit and _git(root, "status", "--porcelain", "--untracked-files=no") else ""
        return commit + changed if _HASH.fullmatch(commit) else ""
    for name in (COMMIT, "archive_commit.txt"):
        path = root / "package" / name
        found = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
        if _HASH.fullmatch(found):
            return found
    return ""


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
