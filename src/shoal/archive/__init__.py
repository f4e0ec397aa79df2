"""What is kept of a release: its published cells, its terms, and under a key its people."""
