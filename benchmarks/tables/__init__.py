"""Several tables of a hospital beside the main one alone and one row per person."""
