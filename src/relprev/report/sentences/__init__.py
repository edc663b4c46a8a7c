"""Sentences: what a report says in words.

`words` that other rooms use too, the `answers` and how far to trust them, the `methods` section.
"""
