"""The experiments of the four papers and two studies beyond them."""
