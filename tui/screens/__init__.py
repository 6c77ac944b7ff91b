"""The screens: the main one, help, leaving, and what stands there without a model."""
