"""Everything that needs litellm: its import, its patches, its credentials."""
