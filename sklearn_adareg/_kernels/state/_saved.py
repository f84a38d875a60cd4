"""What kernels ask of arrays that were read from a file: numbers by which they find their way are within range.

A class with such numbers among its arrays has a method ``mismatch``: why they are none that its rounds leave, in a clause, or None.
Shapes, dtypes and whether numbers are finite have been compared before with what the class allocates.
"""

import numpy as np


def out_of_range(arrays, name, most, whole=True):
    """Why an array has numbers that are not from 0 to ``most``, in a clause; None if all are, or if there is no such array."""
    numbers = arrays.get(name)
    if numbers is None or bool(np.all((numbers >= 0.0) & (numbers <= most) & (not whole or numbers % 1.0 == 0.0))):
        return None
    return f"its array {name!r} has numbers that are not {'whole ones ' if whole else ''}from 0 to {most:.17g}"
