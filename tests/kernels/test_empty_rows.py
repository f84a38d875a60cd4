"""Sparse rows without a single entry: the arrays behind them are empty, and there may be no memory at all.

Whether a kernel computes an address from a null pointer is for ``.ci/sanitize`` to see; the model is checked here.
"""

import numpy as np
import pytest
from scipy import sparse
from support.data import STRUCTURES

from sklearn_adareg import AdaRegRegressor


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("structure", ["auto", *STRUCTURES])
def test_rows_without_entries_are_rows_of_zeros(structure, fit_intercept):
    y = np.arange(40.0)
    model = AdaRegRegressor(structure=structure, fit_intercept=fit_intercept, random_state=0)
    empty = model.fit(sparse.csr_matrix((40, 3)), y).coef_, model.intercept_
    zeros = model.fit(np.zeros((40, 3)), y).coef_, model.intercept_
    np.testing.assert_array_equal(empty[0], 0.0)
    np.testing.assert_array_equal(zeros[0], 0.0)
    np.testing.assert_allclose(empty[1], zeros[1], rtol=1e-12)
    assert (abs(zeros[1]) > 1.0) == fit_intercept
