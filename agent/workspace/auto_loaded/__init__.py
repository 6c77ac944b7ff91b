"""Files that a tool, an editor, a shell or an agent loads when it starts in a folder."""
