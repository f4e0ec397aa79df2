"""Two source trees run in turn: CPU time of four algorithms, before ÷ after."""
