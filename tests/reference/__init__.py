"""The algorithms in slow NumPy, with the papers' letters. Nothing here imports the package, so that a mistake cannot hide in both.

- ``algorithm``: Algorithm 1 of Gupta, Koren & Singer, with its losses, potentials and structures; read it first.
- ``domains``: step 4, the projection onto a domain.
- ``half_life``: G with a half-life.
- ``scaling``: rounds in running units of features and residuals, which the following two share.
- ``stack``: a few step sizes side by side and the regression that combines them (``eta="auto"``, diagonal structures).
- ``information``: sums over rows, solved at the ends of blocks, and their candidates (``eta="auto"``, full structure).
- ``quadratics``, ``fixed_share``: what a row leaves behind in them, and how candidates are combined.
- ``sketch``: Newton steps on a sketch.
- ``kronecker``: Shampoo for a linear model of several classes or targets.
"""
