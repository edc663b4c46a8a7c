"""The page: its `layout`, its `rendering` as HTML, and the page that compares `conditions`."""
