"""Proactive shuffle: rows scheduled by what rows of their key have cost."""
