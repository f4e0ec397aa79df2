"""Sequential clustering as we do it beside a plain scan of all groups."""
