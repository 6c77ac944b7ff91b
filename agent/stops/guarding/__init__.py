"""Find the files that decide a verdict: code that a check executes or imports, and its configuration
(docs/requirements.md 2.3.6).
"""
