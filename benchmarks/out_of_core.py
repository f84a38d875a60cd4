"""Files: rows per second beside Vowpal Wabbit, memory, and how well reading and learning overlap.

Makes a Parquet file of numbers and a target, and the same rows as CSV, svmlight and Vowpal Wabbit's text; then

- ``adareg train`` on the Parquet file and ``vw`` on its text, each in a process of its own, on the wall clock, in turns; the most
  memory that our process used;
- for each kind of file the seconds of reading alone, of learning alone and of fit_stream, and the last over the longer of the others.

    python benchmarks/out_of_core.py [--megabytes 2000]
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sklearn_adareg import AdaRegClassifier
from sklearn_adareg.streams import fit_stream, open_stream

FEATURES, BLOCK = 30, 50_000
OVERLAP_ROWS = 400_000  # of the text files, and of the comparison with vw
NAMES = [f"x{i}" for i in range(FEATURES)]


def blocks(rows):
    """Rows and labels, a block at a time."""
    weights = np.random.default_rng(0).normal(size=FEATURES) / 3
    for number in range(-(-rows // BLOCK)):
        rng = np.random.default_rng([1, number])
        X = rng.normal(size=(min(BLOCK, rows - number * BLOCK), FEATURES))
        yield X, (rng.logistic(size=len(X)) < X @ weights) * 2 - 1


def write_parquet(path, rows):
    with pq.ParquetWriter(
        path, pa.schema([*((n, pa.float64()) for n in NAMES), ("y", pa.int64())])
    ) as out:
        for X, y in blocks(rows):
            out.write_table(pa.table([*X.T, y], names=[*NAMES, "y"]))


def write_texts(folder, rows):
    """The same rows with six digits, as CSV, svmlight and vw read them."""
    kinds = {"rows.csv": "{y},{values}", "rows.svm": "{y} {pairs}", "rows.vw": "{y} | {pairs}"}
    files = {name: (folder / name).open("w") for name in kinds}
    files["rows.csv"].write(",".join(["y", *NAMES]) + "\n")
    for X, y in blocks(rows):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            digits = [f"{value:.6g}" for value in row]
            pairs = " ".join(f"{i}:{text}" for i, text in enumerate(digits, 1))
            for name, line in kinds.items():
                files[name].write(line.format(y=label, values=",".join(digits), pairs=pairs) + "\n")
    for file in files.values():
        file.close()


def process(arguments):
    """Wall seconds of a process, and the most memory it used, in MB."""
    begun = time.perf_counter()
    child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{arguments} failed")
    return time.perf_counter() - begun, usage.ru_maxrss / 1024


def train(path, model):
    return process(
        [
            sys.executable,
            "-m",
            "sklearn_adareg",
            "train",
            str(path),
            "--target",
            "y",
            "--model",
            str(model),
            "--classes=-1,1",
        ]
    )


def vw(path):
    code = f"from vowpalwabbit import Workspace; Workspace('--quiet -d {path} --loss_function logistic').finish()"
    return process([sys.executable, "-c", code])


def overlap(path):
    """Seconds of reading alone, of learning alone, and of both together; the best of three."""
    options = {} if path.suffix == ".svm" else {"target": "y"}

    def stream():
        return open_stream(path, **({"n_features": FEATURES} if path.suffix == ".svm" else {}))

    def timed(work):
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    def learn(chunks):
        model = AdaRegClassifier()
        for X, y in chunks:
            model.partial_fit(X, y, classes=[-1, 1])

    def prepared():
        for chunk in stream().chunks():
            if chunk.y is not None:
                yield chunk.X, chunk.y
            else:
                columns = [chunk.X.column(name).to_numpy() for name in NAMES]
                yield np.column_stack(columns), chunk.X.column("y").to_numpy().astype(int)

    ready = list(prepared())
    alone = [
        (
            timed(lambda: [None for _ in prepared()]),
            timed(lambda: learn(ready)),
            timed(
                lambda: fit_stream(
                    AdaRegClassifier(), stream(), classes=[-1, 1], progress=False, **options
                )
            ),
        )
        for _ in range(3)
    ]
    return np.min(alone, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100, help="size of the Parquet file (100)")
    parser.add_argument("--folder", help="where the files go (a temporary folder)")
    args = parser.parse_args()
    rows = args.megabytes * 1_000_000 // (8 * (FEATURES + 1))
    text_rows = min(rows, OVERLAP_ROWS)
    with TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        write_parquet(folder / "rows.parquet", rows)
        write_parquet(folder / "short.parquet", text_rows)
        write_texts(folder, text_rows)
        size = (folder / "rows.parquet").stat().st_size / 1e6
        print(f"{rows:,} rows of {FEATURES} numbers; the Parquet file has {size:,.0f} MB")
        seconds, memory = train(folder / "rows.parquet", folder / "m.adareg")
        print(
            f"adareg train: {seconds:.1f} s, {rows / seconds:,.0f} rows/s, {memory:.0f} MB at most\n"
        )
        ours, theirs = [], []
        for _ in range(3):
            ours.append(train(folder / "short.parquet", folder / "m.adareg")[0])
            theirs.append(vw(folder / "rows.vw")[0])
        print(
            f"{text_rows:,} rows, whole processes, the best of three: adareg {min(ours):.2f} s, vw {min(theirs):.2f} s,"
        )
        print(f"rows per second over vw's: {min(theirs) / min(ours):.2f}\n")
        print(f"{'':10}{'reading':>9}{'learning':>9}{'together':>9}  together / the longer")
        for kind in ("short.parquet", "rows.csv", "rows.svm"):
            reading, learning, both = overlap(folder / kind)
            print(
                f"{kind[-8:]:10}{reading:9.2f}{learning:9.2f}{both:9.2f}{both / max(reading, learning):12.2f}"
            )


if __name__ == "__main__":
    main()
