"""The files, flags and variables that settings come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rundry.agent.settings.settings import Settings, config_file, load_settings
from rundry.agent.settings.trust import Trust


@dataclass
class Place:
    """A workspace, a user's config folder and an environment."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workspace = self.root / "workspace"
        self.workspace.mkdir()
        self.env = {"XDG_CONFIG_HOME": str(self.root / "config"), "XDG_DATA_HOME": str(self.root / "data")}

    def project(self, text: str, *, trusted: bool = True) -> None:
        (self.workspace / ".rundry.toml").write_text(text)
        if trusted:
            Trust(env=self.env).trust(self.workspace)

    def user(self, text: str) -> None:
        path = config_file(self.env)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def load(self, *, trust: bool = False, **flags: object) -> Settings:
        return load_settings(flags, cwd=self.workspace, env=self.env, trust=trust, now=1_795_000_000.0)
