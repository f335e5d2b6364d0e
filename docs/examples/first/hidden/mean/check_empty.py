import calculator

assert calculator.mean([]) == 0, "the mean of nothing should be 0"
