"""What a campaign keeps: one directory with a database and a readable tree, and which entry to work on next."""
