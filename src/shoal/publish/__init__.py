"""What leaves the house: columns made of nothing but what is published, and a second opinion."""
