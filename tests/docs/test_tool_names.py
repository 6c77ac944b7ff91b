"""The page about settings names the tools of the model, which rules and quotas name."""

from __future__ import annotations

from pathlib import Path

from rundry.agent.tools.tool_table import TOOLS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "settings.md"


def test_each_tool_is_listed_with_its_arguments():
    listed = set(PAGE.read_text().split("## Names of the tools")[1].split("\n## ")[0].splitlines())
    for name, tool in TOOLS.items():
        required = tool.spec.parameters.get("required", [])
        names = [f"`{one}`" if one in required else f"`{one}`?" for one in tool.spec.parameters["properties"]]
        assert f"| `{name}` | {', '.join(names)} |" in listed
