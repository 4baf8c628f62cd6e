"""The schemes that decide which worker a row goes to: one per file."""
