r"""Which names no tool may touch, and which are asked about in every mode. Pure: no disk is read here.

Names are compared folded, so that `.GIT`, `.git ` or `.g\u200cit` are `.git` on a file system that folds them
(CVE-2014-9390, CVE-2025-59944).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase

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

_SHELL = _words(
    """.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .cshrc .tcshrc .login .inputrc config.fish .envrc .direnvrc"""
)
_GIT_HOOKS = _words(
    """applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist
    post-applypatch post-checkout post-commit post-index-change post-merge post-receive post-rewrite post-update
    pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg
    proc-receive push-to-checkout reference-transaction sendemail-validate update"""
)
_HOOK_FOLDERS = frozenset({".husky", ".githooks", ".git-hooks", "githooks", ".hooks"})
_HOOK_CONFIG = _words(
    """.pre-commit-config.yaml .pre-commit-config.yml lefthook.yml lefthook.yaml .lefthook.yml lefthook-local.yml
    .overcommit.yml .huskyrc .gitmodules .gitattributes .gitconfig"""
)
_CI_FILES = _words(
    """.gitlab-ci.yml .travis.yml appveyor.yml .appveyor.yml jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml
    .drone.yml .woodpecker.yml .cirrus.yml buildspec.yml cloudbuild.yaml .semaphore.yml"""
)
_CI_FOLDERS = frozenset({".ci", ".circleci", ".buildkite", ".woodpecker", ".semaphore", ".teamcity", ".tekton"})
_FORGES = frozenset({".github", ".gitea", ".forgejo", ".gitlab"})
_EDITOR_FOLDERS = frozenset({".vscode", ".idea", ".zed", ".cursor", ".devcontainer", ".fleet", ".vs"})
_EDITOR_FILES = frozenset({".vimrc", ".nvimrc", ".exrc", ".nvim.lua", ".dir-locals.el"})
_OWN = frozenset({CONFIG, ".rundry"})
_AGENT_FOLDERS = frozenset({".claude", ".codex", ".gemini", ".opencode"})
_AGENT_FILES = frozenset({".mcp.json"})
_START_UP = frozenset({"sitecustomize.py", "usercustomize.py", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"})


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
    if not parts:
        return None
    folded = [fold(part) for part in parts]
    name, folders = folded[-1], set(folded[:-1])
    every = set(folded)
    reasons = (
        (every & _OWN, "it configures rundry"),
        (name in _SHELL or ("fish" in folders and name.endswith(".fish")), "a shell runs it when it starts"),
        (every & _HOOK_FOLDERS or name in _GIT_HOOKS or name in _HOOK_CONFIG, "it can run as a hook"),
        (every & _CI_FOLDERS or name in _CI_FILES, "it runs in CI"),
        (every & _FORGES and not name.endswith(".md"), "it runs in CI"),
        (every & _EDITOR_FOLDERS or name in _EDITOR_FILES, "an editor may run what it says"),
        (every & _AGENT_FOLDERS or name in _AGENT_FILES, "it configures an agent"),
        (name in _START_UP or name.endswith(".pth"), "a tool runs it when it starts"),
    )
    return next((why for holds, why in reasons if holds), None)
