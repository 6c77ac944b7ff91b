"""Turn errors of a model call into a `ModelFault` that `step` can act on, with its kind and the provider's words."""
