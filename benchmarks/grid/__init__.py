"""Loss with and without a grid: what lines instead of exact ends cost."""
