"""What the data are: roles and kinds of columns, codes, groups, what a group generalises to."""
