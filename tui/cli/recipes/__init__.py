"""Commands about recipes and the schema of spec files."""
