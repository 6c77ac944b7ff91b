"""Run checks, and find what decides whether they pass: files, helpers, settings of tools."""
