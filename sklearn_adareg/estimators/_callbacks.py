"""scikit-learn's callbacks where it has them (1.9 on), nothing where it has not."""

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9: no set_callbacks, and a context that does nothing

    class CallbackSupportMixin:
        """Stands in for scikit-learn's mixin."""

        def _init_callback_context(self, **kwargs):
            return _NoContext()


class _NoContext:
    """What the training loop talks to when nobody listens."""

    def subcontext(self, **kwargs):
        return self

    def call_on_fit_task_begin(self, **kwargs):
        return self

    def call_on_fit_task_end(self, **kwargs):
        return False


class Listeners:
    """The callbacks of one ``fit``: called when it and each of its passes begin and end; any of them may ask to stop."""

    def __init__(self, estimator, passes, X, y, sample_weight):
        self.estimator = estimator
        self.context = estimator._init_callback_context(max_subtasks=passes)
        self.facts = {"estimator": estimator, "X": X, "y": y}
        if sample_weight is not None:
            self.facts["metadata"] = {"sample_weight": sample_weight}
        self.context.call_on_fit_task_begin(**self.facts)

    def pass_begins(self):
        """A pass over the rows begins."""
        self.passing = self.context.subcontext(task_name="epoch")
        self.passing.call_on_fit_task_begin(**self.facts)

    def pass_ends(self, fitted):
        """A pass has ended; ``fitted()`` gives the attributes of the model so far. True asks to stop."""
        return self.passing.call_on_fit_task_end(**self.facts, reconstruction_attributes=fitted)

    def fit_ends(self, fitted):
        """The whole fit has ended."""
        self.context.call_on_fit_task_end(**self.facts, reconstruction_attributes=fitted)
