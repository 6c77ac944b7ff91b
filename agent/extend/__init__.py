"""What others add to rundry: MCP servers, skills, and telemetry."""
