"""Fakes: each plays a script and records what it was asked. Nothing is patched."""
