"""What an experiment is, and its runs in one directory."""
