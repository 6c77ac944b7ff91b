"""One file for each harness."""

from ..harness import Harness
from .aider import Aider
from .bare import Bare
from .claude import ClaudeCode
from .codex import Codex
from .mini import MiniSweAgent
from .opencode import OpenCode
from .rundry import RUNDRY

HARNESSES: list[Harness] = [*RUNDRY, Bare(), Codex(), ClaudeCode(), OpenCode(), Aider(), MiniSweAgent()]
