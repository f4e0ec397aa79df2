"""Time, memory, loss and growth of every algorithm on Adult."""
