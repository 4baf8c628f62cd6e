"""Results as tables, as JSON and as a page to look at."""
