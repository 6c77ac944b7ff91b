"""Every user action: its key, palette entry and slash command. Does not import textual."""
