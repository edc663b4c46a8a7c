"""The page: its `layout`, its `front`, its `rendering` as HTML, and the page that compares `conditions`."""
