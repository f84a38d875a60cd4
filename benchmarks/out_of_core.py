"""Files: rows per second beside Vowpal Wabbit, memory, and how well reading and learning overlap.

Makes a Parquet file of numbers and a target, and the same rows as CSV, svmlight and Vowpal Wabbit's text; then

- ``adareg train`` on the Parquet file and ``vw`` on the text of some of its rows, each in a process of its own: rows per second on
  the wall clock and per second of the processor (which tells more on a machine with other work), and the most memory that our
  process used;
- rows per second of one and of two such processes at once, on a Parquet file each;
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
from typing import NamedTuple

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
    with pq.ParquetWriter(path, pa.schema([*((n, pa.float64()) for n in NAMES), ("y", pa.int64())])) as out:
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


class Usage(NamedTuple):
    """What a process took."""

    wall: float  # seconds
    cpu: float
    memory: float  # at most, in MB


def processes(*commands):
    """Run processes at once."""
    begun = time.perf_counter()
    children = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in commands]
    cpu = memory = 0.0
    for child, command in zip(children, commands, strict=True):
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{command} failed")
        cpu += usage.ru_utime + usage.ru_stime
        memory = max(memory, usage.ru_maxrss / 1024)
    return Usage(time.perf_counter() - begun, cpu, memory)


def rates(rows, usages):
    """Rows per second by the wall clock and of the processor, the best of some runs each."""
    return rows / min(each.wall for each in usages), rows / min(each.cpu for each in usages)


def train(path, model):
    options = ["--target", "y", "--model", str(model), "--classes=-1,1"]
    return [sys.executable, "-m", "sklearn_adareg", "train", str(path), *options]


def vw(path):
    code = f"from vowpalwabbit import Workspace; Workspace('--quiet -d {path} --loss_function logistic').finish()"
    return [sys.executable, "-c", code]


def overlap(path, runs):
    """Seconds of reading alone, of learning alone, and of both together; the best of some runs."""
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
            timed(lambda: fit_stream(AdaRegClassifier(), stream(), classes=[-1, 1], progress=False, **options)),
        )
        for _ in range(runs)
    ]
    return np.min(alone, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100, help="size of the Parquet file (100)")
    parser.add_argument("--runs", type=int, default=3, help="of each comparison (3)")
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
        large = processes(train(folder / "rows.parquet", folder / "m.adareg"))
        by_wall, by_cpu = rates(rows, [large])
        print(
            f"adareg train: {large.wall:.1f} s, {by_wall:,.0f} rows/s ({by_cpu:,.0f} per second of the processor), "
            f"{large.memory:.0f} MB at most\n"
        )
        short = train(folder / "short.parquet", folder / "m.adareg")
        ours, theirs, both = [], [], []
        for _ in range(args.runs):
            ours.append(processes(short))
            theirs.append(processes(vw(folder / "rows.vw")))
            both.append(processes(short, train(folder / "short.parquet", folder / "other.adareg")))
        print(f"{text_rows:,} rows, whole processes, the best of {args.runs}:")
        print(f"{'':26}{'rows/s':>12}{'per second of the processor':>30}")
        figures = {
            "adareg train": rates(text_rows, ours),
            "vw": rates(text_rows, theirs),
            "adareg, the large file": (by_wall, by_cpu),
            "adareg, two processes": rates(2 * text_rows, both),
        }
        for name, (wall, cpu) in figures.items():
            over = [each / other for each, other in zip((wall, cpu), figures["vw"], strict=True)]
            print(f"{name:26}{wall:12,.0f}{cpu:30,.0f}   {over[0]:.2f}, {over[1]:.2f} of vw's")
        print()
        print(f"{'':10}{'reading':>9}{'learning':>9}{'together':>9}  together / the longer")
        for kind in ("short.parquet", "rows.csv", "rows.svm"):
            reading, learning, both = overlap(folder / kind, args.runs)
            print(f"{kind[-8:]:10}{reading:9.2f}{learning:9.2f}{both:9.2f}{both / max(reading, learning):12.2f}")


if __name__ == "__main__":
    main()
