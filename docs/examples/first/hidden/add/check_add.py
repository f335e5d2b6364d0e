# quintain-canary-first0add
import calculator

assert calculator.add(2, 3) == 5
assert calculator.add(-1, 1) == 0
print("add is right")
