"""Find skills and slash commands in the user's config folder and in a project, and check whether they are trusted."""
