"""Those who learn: ours, scikit-learn's, river's and Vowpal Wabbit's, row by row, in chunks and in passes."""
