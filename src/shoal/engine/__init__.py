"""Where the clustering runs: on this machine, in blocks and threads."""
