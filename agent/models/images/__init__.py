"""Find, recognize, read and describe the images in a user's messages."""
