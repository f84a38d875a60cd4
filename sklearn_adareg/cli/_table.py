"""The table of losses that training prints, as Vowpal Wabbit prints it: a line whenever the number of rows has doubled."""

from sklearn.pipeline import Pipeline

from ..streams._progress import duration


class LossTable:
    """Called with the progress of ``fit_stream``; prints what the model's progressive curve has gained."""

    def __init__(self):
        self.printed = None
        self.rate = ""
        self.last = (0.0, 0.0)  # rows and total loss at the last line

    def head(self, model, source):
        """Print what is learnt, and the names of the columns."""
        self.model = model
        print(f"{type(_learner(model)).__name__}, learning from {source}")
        print(f"\n{'average':>10} {'since':>10} {'rows':>12} {'rows/s':>10} {'left':>9}")
        print(f"{'loss':>10} {'last':>10} {'':>12} {'':>10} {'':>9}")

    def __call__(self, progress):
        self.progress = progress
        curve = _learner(self.model).progressive_curve_
        rows, losses = curve["rows"].tolist(), curve["mean_loss"].tolist()
        if self.printed is None:  # not what an earlier run printed
            self.printed = progress.rows - int(progress.rows_per_second * progress.seconds)
        due = [
            (count, loss)
            for count, loss in zip(rows, losses, strict=True)
            if count > self.printed and (count & (count - 1) == 0 or (progress.finished and count == rows[-1]))
        ]
        for count, loss in due:
            newest = count == due[-1][0]
            self.line(count, loss, progress if newest else None)
            self.printed = count

    def line(self, count, loss, progress):
        """Print one line; speed and time left are those of now."""
        rows, total = self.last
        since = (loss * count - total) / (count - rows)
        self.last = (count, loss * count)
        speed = left = ""
        if progress is not None:
            speed = f"{progress.rows_per_second:,.0f}"
            if progress.seconds_left is not None and not progress.finished:
                left = duration(progress.seconds_left)
        print(f"{_narrow(loss)} {_narrow(since)} {count:12,d} {speed:>10} {left:>9}", flush=True)

    def end(self, model):
        """Print the summary."""
        progress = getattr(self, "progress", None)
        print(f"\nrows            {model.t_:,}")
        print(f"average loss    {model.progressive_loss_:.6f}")
        curve = model.progressive_curve_
        if "error_rate" in curve:
            print(f"error rate      {curve['error_rate'][-1]:.6f}")
        print(f"features        {model.n_features_in_:,}")
        print(f"method          {model.method_}: {model.potential_}, {model.structure_}")
        if progress is not None:
            print(f"time            {duration(progress.seconds)}, {progress.rows_per_second:,.0f} rows per second")


def _learner(model):
    """The last step of a pipeline, which is another one once a checkpoint has been resumed."""
    return model[-1] if isinstance(model, Pipeline) else model


def _narrow(loss):
    """Six decimals, or six digits where those would not fit in the column."""
    return f"{loss:10.6f}" if abs(loss) < 1000.0 else f"{loss:10.6g}"
