"""What analysts lose: counts, distributions and models from a release beside the original."""
