"""The findings of a search as Markdown, CSV and SARIF."""
