"""Scripts that measure; a package only so that they can share code."""
