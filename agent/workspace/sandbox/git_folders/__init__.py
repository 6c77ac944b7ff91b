"""Find and read the git folders of a workspace, and run git in them without what a command could have configured."""
