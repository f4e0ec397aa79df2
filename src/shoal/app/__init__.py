"""The same work with a mouse: pages of one's own machine around jobs, profiles and releases.

Nothing here anonymizes: a page changes a job (`Workspace.job`), and the rooms below run it.
"""
