"""One small reader for each family of models. Each begins behind the opening tag and raises Refused for text."""
