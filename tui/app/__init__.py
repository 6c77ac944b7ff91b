"""The app, the main screen, and what belongs to it. Importing this package does not import textual."""
