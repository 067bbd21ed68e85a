"""What the commands and their buttons do."""
