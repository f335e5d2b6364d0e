# quintain-canary-first0rename
import calculator

assert calculator.multiply(2, 3) == 6
assert not hasattr(calculator, "mul"), "mul is still there"
assert calculator.square(4) == 16
print("multiply is right")
