"""What tests share; imported as `tests.helpers`, from the root of the repository."""
