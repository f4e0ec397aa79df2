"""Gap to the optimum: what `auto` and the bound lose or miss on tables small enough to solve."""
