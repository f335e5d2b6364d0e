# quintain-canary-first0guard
import calculator

assert calculator.divide(6, 3) == 2
try:
    calculator.divide(1, 0)
except ValueError as error:
    assert "zero" in str(error)
else:
    raise AssertionError("divide(1, 0) did not raise")
print("divide is right")
