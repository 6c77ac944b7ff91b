"""The next step of a conversation: the message to the model, and whether the open pass continues."""
