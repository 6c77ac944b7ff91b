"""The demo: a scripted model and a small project with failing tests, for a first look without key or network."""
