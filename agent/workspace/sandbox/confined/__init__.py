"""What a command can see: environment variables, files and sockets."""
