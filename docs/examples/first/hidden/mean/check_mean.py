# quintain-canary-first0mean
import calculator

assert calculator.mean([1, 2, 3, 6]) == 3
print("mean is right")
