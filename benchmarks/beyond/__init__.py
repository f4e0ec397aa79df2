"""`auto` and refinement against the papers' algorithms, other software and the lower bound."""
