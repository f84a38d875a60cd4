"""Data and estimators that several tests use; each module says what it has."""
