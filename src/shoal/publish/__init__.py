"""What leaves the house: published columns made of nothing but what is published."""
