"""Routing: which worker each row goes to, as an expression or in Python tasks."""
