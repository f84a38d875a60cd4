"""AdaRegClassifier, AdaRegRegressor and AdaReg: what scikit-learn's users call."""
