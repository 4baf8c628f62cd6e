"""Speed, always as a ratio to a baseline that is measured in the same run."""
