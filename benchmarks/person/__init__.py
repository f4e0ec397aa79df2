"""Loss with and without a role for the person, on a panel made from Adult."""
