"""A trial: one order in, one report out. Nothing global is touched, so it can run in this process or in another."""
