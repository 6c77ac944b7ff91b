"""Resume a run whose journal is damaged: refuse it, or continue as a person asked, without forgetting any spend."""
