"""Predictions and scores of a search: those of its best trial."""

from sklearn.metrics import check_scoring
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def _best_has(method):
    def check(self):
        model = self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator
        getattr(model, method)  # its own AttributeError, if it has none
        return True

    return available_if(check)


class BestTrialPredicts:
    """A mixin of a search with ``estimator`` and ``scoring``; fitted, it has ``best_estimator_``."""

    @property
    def classes_(self):
        """The labels."""
        check_is_fitted(self)
        return self.best_estimator_.classes_

    def score(self, X, y=None):
        """The score of the best trial: by ``scoring``, or by its own ``score``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like, default=None
            Targets.

        Returns
        -------
        float
            The score.
        """
        check_is_fitted(self)
        if self.scoring is None:
            return self.best_estimator_.score(X, y)
        return check_scoring(self.best_estimator_, scoring=self.scoring)(self.best_estimator_, X, y)

    @_best_has("predict")
    def predict(self, X):
        """Predictions of the best trial.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray
            What its ``predict`` returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @_best_has("predict_proba")
    def predict_proba(self, X):
        """Probabilities by the best trial.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            What its ``predict_proba`` returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @_best_has("predict_log_proba")
    def predict_log_proba(self, X):
        """Logarithms of probabilities by the best trial.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            What its ``predict_log_proba`` returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @_best_has("decision_function")
    def decision_function(self, X):
        """Margins by the best trial.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray
            What its ``decision_function`` returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.target_tags, tags.input_tags = own.target_tags, own.input_tags
        return tags
