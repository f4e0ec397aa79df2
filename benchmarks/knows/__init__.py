"""What attackers who know three columns cost, beside those who know all."""
