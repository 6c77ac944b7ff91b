r"""Which names no tool may touch, and which are asked about in every mode. Pure: no disk is read here.

Names are compared folded, so that `.GIT`, `.git ` or `.g\u200cit` are `.git` on a file system that folds them
(CVE-2014-9390, CVE-2025-59944).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase

from .obeyed import reason

CONFIG = ".rundry.toml"
"""rundry's own, in a workspace."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET_NAMES = _words(
    """.env .netrc _netrc .pgpass .my.cnf .pypirc .git-credentials .htpasswd .vault_pass .vault-token .dockercfg
    id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk credentials .credentials
    application_default_credentials.json"""
)
_SECRET_GLOBS = (
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
)
_SECRET_DATA = frozenset(
    f"{stem}.{end}"
    for stem in ("credentials", "secrets", ".credentials", ".secrets")
    for end in ("json", "yml", "yaml", "toml", "ini", "csv", "txt", "enc")
)
_SAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")
"""`.env.example` holds names of variables and no values."""
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store"})


def fold(name: str) -> str:
    """One name as the most forgiving file system would read it: no case, no invisible signs, no trailing dots."""
    seen = unicodedata.normalize("NFKC", name)
    shown = "".join(sign for sign in seen if unicodedata.category(sign) != "Cf")
    return shown.casefold().rstrip(". ")


def forbidden(parts: Sequence[str]) -> str | None:
    """Why no tool may touch the path made of these parts below the workspace, or None."""
    folded = [fold(part) for part in parts]
    for name in folded:
        if name in (".git", "git~1"):
            return "git's own files are not for tools: use git commands"
        if name in _SECRET_FOLDERS:
            return "it is in a folder of keys"
    if folded and is_secret(folded[-1]):
        return "it usually holds secrets"
    return None


def is_secret(name: str) -> bool:
    """A file of this name usually holds a password or a key."""
    name = fold(name)
    if name in _SECRET_NAMES or name in _SECRET_DATA:
        return True
    if name.startswith(".env") and name.endswith(_SAMPLES):
        return False
    return any(fnmatchcase(name, glob) for glob in _SECRET_GLOBS)


def cautioned(parts: Sequence[str]) -> str | None:
    """Why a change of this path is asked about in every mode, also before the file exists; None: it is not."""
    return reason([fold(part) for part in parts])
