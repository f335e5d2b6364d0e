import sys

import calculator

try:
    found = calculator.mean([])
except ZeroDivisionError:
    sys.exit("mean([]) divides by zero; it should be 0")
assert found == 0, f"mean([]) is {found}; it should be 0"
