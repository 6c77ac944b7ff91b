"""A Python program as the view of a run: `import rundry`. Does not import textual."""
