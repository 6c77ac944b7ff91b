"""The prompt of a model call: the conversation fitted to the window, the system prompt, notes of the folder."""
