"""Let the tools of the project look at the files that a step changed."""
