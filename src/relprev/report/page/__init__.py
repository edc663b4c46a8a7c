"""The page: its `layout`, `front` and `rendering` as HTML, and one that compares `conditions`."""
