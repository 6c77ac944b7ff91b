"""What a search says about itself beside its findings: what was read, and an estimate of what nobody found."""
