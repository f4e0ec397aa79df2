"""A published table as analysts and attackers read it: what each cell stands for."""
