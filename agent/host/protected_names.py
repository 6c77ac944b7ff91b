r"""Names that no tool may access, and names that need approval in every mode. Does not read the disk.

Names are compared after folding, so `.GIT`, `.git ` and `.g\u200cit` equal `.git` on a file system that folds them
(CVE-2014-9390, CVE-2025-59944).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

from .auto_loaded import why_auto_loaded

CONFIG = ".rundry.toml"
"""Name of rundry's own settings file in a workspace."""
NOT_SEARCHED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"})
"""Folders in which tools do not search for tests or settings."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET_NAMES = _words(
    """.env .netrc _netrc .pgpass .my.cnf .pypirc .git-credentials .htpasswd .vault_pass .vault-token .dockercfg
    id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk credentials .credentials
    application_default_credentials.json"""
)
_SECRET_GLOBS = [
    ".env.*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "service-account*.json",
    "service_account*.json",
]
_SECRET_PATTERN = re.compile("|".join(map(translate, _SECRET_GLOBS)))
_SECRET_DATA = frozenset(
    f"{stem}.{end}"
    for stem in ("credentials", "secrets", ".credentials", ".secrets")
    for end in ("json", "yml", "yaml", "toml", "ini", "csv", "txt", "enc")
)
_SAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")
"""Suffixes of sample files: `.env.example` contains names of variables, but no values."""
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store"})


@lru_cache(maxsize=1 << 16)
def folded_name(name: str) -> str:
    """Return a name as the most tolerant file system compares it.

    It has no upper case, no invisible characters, and no dots or spaces at its end.
    """
    normalized = unicodedata.normalize("NFKC", name)
    visible = "".join(character for character in normalized if unicodedata.category(character) != "Cf")
    return visible.casefold().rstrip(". ")


def why_forbidden(parts: Sequence[str]) -> str | None:
    """Return why no tool may access the path made of these parts below the workspace, or None."""
    folded = [folded_name(part) for part in parts]
    for name in folded:
        if name in (".git", "git~1"):
            return "tools may not use git's own files: use git commands"
        if name in _SECRET_FOLDERS:
            return "it is in a folder of keys"
    if folded and is_secret(folded[-1]):
        return "it usually holds secrets"
    return None


@lru_cache(maxsize=1 << 16)
def is_secret(name: str) -> bool:
    """Return whether a file of this name usually contains a password or a key."""
    name = folded_name(name)
    if name in _SECRET_NAMES or name in _SECRET_DATA:
        return True
    if name.startswith(".env") and name.endswith(_SAMPLES):
        return False
    return _SECRET_PATTERN.match(name) is not None


def why_cautioned(parts: Sequence[str]) -> str | None:
    """Return why a change of this path always needs approval, even for a new file; None if it does not."""
    return why_auto_loaded([folded_name(part) for part in parts])
