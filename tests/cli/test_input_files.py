"""Files of all kinds from a shell: a model that is right, or one sentence and a code other than 0."""

import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, load_model, save_model
from sklearn_adareg.cli import main

pytest.importorskip("pyarrow")
rng = np.random.default_rng(0)
ROWS = 120
x = rng.normal(size=ROWS).round(3)
shop = rng.choice(["a", "b, c", 'q"t', "München"], ROWS)
TABLE = pd.DataFrame({"x": x, "s": shop, "y": (2 * x + (shop == "a")).round(3)})
PLAIN = TABLE.to_csv(index=False, lineterminator="\n")
UP = TABLE[["x"]].assign(y=np.where(TABLE["y"] > 0, "up", "down"))


def run(line, capsys, code=0):
    """What a command prints, (out, err)."""
    try:
        found = main(line.split())
    except SystemExit as left:
        found = left.code
    printed = capsys.readouterr()
    assert found == code, printed.err
    return printed


SAME = {  # the same table, each time
    "with quotes": ("a.csv", TABLE.to_csv(index=False, quoting=1).encode(), ""),
    "with a byte order mark": ("a.csv", PLAIN.encode("utf-8-sig"), ""),
    "of Windows": ("a.csv", PLAIN.replace("\n", "\r\n").encode(), ""),
    "of Windows, in its encoding": ("a.csv", PLAIN.encode("cp1252"), "--encoding cp1252"),
    "compressed": ("a.csv.gz", gzip.compress(PLAIN.encode()), ""),
    "without an end of the last line": ("a.csv", PLAIN.rstrip("\n").encode(), ""),
    "with empty lines at its end": ("a.csv", (PLAIN + "\n\n").encode(), ""),
    "with spaces around names": ("a.csv", PLAIN.replace("x,s,y", "x, s, y", 1).encode(), ""),
    "with tabs": ("a.tsv", TABLE.to_csv(index=False, sep="\t").encode(), ""),
}


@pytest.mark.every_case
@pytest.mark.parametrize("kind", SAME)
def test_the_same_table_gives_the_same_model(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name, content, options = SAME[kind]
    (tmp_path / "plain.csv").write_bytes(PLAIN.encode())
    (tmp_path / name).write_bytes(content)
    run("train plain.csv --target y --model plain.adareg --quiet --bits 8", capsys)
    run(f"train {name} --target y --model m.adareg --quiet --bits 8 {options}", capsys)
    expected, found = load_model("plain.adareg"), load_model("m.adareg")
    np.testing.assert_array_equal(found[-1].coef_, expected[-1].coef_)
    assert found[0].hashed_values_["s"].tolist() == expected[0].hashed_values_["s"].tolist()
    out, _ = run(f"predict {name} --model m.adareg {options}", capsys)
    assert [float(line) for line in out.split()[1:]] == expected.predict(TABLE).tolist()


def test_a_file_without_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("a.csv", index=False, header=False)
    _, err = run("train a.csv --target y --model m.adareg", capsys, code=1)
    assert "if these are values, pass header=False (--no-header)" in err
    run("train a.csv --target 2 --model m.adareg --quiet --no-header", capsys)
    encoder, last = load_model("m.adareg")
    assert (encoder.numeric_, encoder.hashed_, last.t_) == (["0"], ["1"], ROWS)


def test_labels_of_true_and_false(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    UP.assign(y=UP["y"] == "up", flag=UP["x"] > 1).to_csv("a.csv", index=False)
    run("train a.csv --target y --model m.adareg --quiet", capsys)
    encoder, last = load_model("m.adareg")
    assert encoder.numeric_ == ["x", "flag"]
    assert last.classes_.tolist() == [False, True]
    _, err = run("predict a.csv --model m.adareg --target y --output p.csv", capsys)
    wrong = np.mean(pd.read_csv("p.csv")["prediction"] != (UP["y"] == "up"))
    assert f"error rate           {wrong:.6g} ({ROWS} rows)" in err


def test_labels_that_the_model_does_not_know_are_counted_or_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    UP.to_csv("a.csv", index=False)
    UP.assign(y=UP["y"].where(UP.index > 2, "left")).to_csv("some.csv", index=False)
    UP.assign(y=1).to_csv("none.csv", index=False)
    run("train a.csv --target y --model m.adareg --quiet", capsys)
    _, err = run("predict some.csv --model m.adareg --target y --output p.csv", capsys)
    assert "unknown labels       3 rows, such as 'left'\n" in err
    assert "log-loss             inf" in err
    _, err = run("predict none.csv --model m.adareg --target y --output p.csv", capsys, code=1)
    assert "'y' has labels such as 1, and the model knows ['down', 'up']" in err


REFUSED = {  # file, its content, options, what the sentence says, the exit code
    "empty": ("a.csv", b"", "--target y", "a.csv is empty", 1),
    "names only": ("a.csv", b"x,y\n", "--target y", "has no rows", 1),
    "a cut line": ("a.csv", b"x,y\n1,2\n3", "--target y", "Expected 2 columns, got 1: 3); every line", 1),
    "Latin 1": ("a.csv", "ö,y\n1,2\n".encode("latin-1"), "--target y", "is not utf-8 text; set encoding (--enc", 1),
    "Latin 1 below": ("a.csv", "x,y\nö,2\n".encode("latin-1"), "--target y", "is not utf-8 text; set encoding", 1),
    "UTF-16": ("a.csv", "x,y\n1,2\n".encode("utf-16"), "--target y", "is stored as UTF-16; save it as UTF-8", 1),
    "no encoding": ("a.csv", b"x,y\n1,2\n", "--target y --encoding utf-16", "no encoding that can be read here", 1),
    "carriage returns": ("a.csv", b"x,y\r1,2\r", "--target y", "end in carriage returns alone; save it", 1),
    "double names": ("a.csv", b"x,x,y\n1,2,3\n", "--target y", "two columns with the name 'x'; rename", 1),
    "a cut gz": ("a.csv.gz", gzip.compress(PLAIN.encode())[:-99], "--target y", "cannot be decompressed (Compressed", 1),
    "no gz": ("a.csv.gz", b"x,y\n1,2\n", "--target y", "cannot be decompressed (Not a gzipped", 1),
    "no bz2": ("a.csv.bz2", b"x,y\n1,2\n", "--target y", "cannot be decompressed (Invalid data", 1),
    "no xz": ("a.csv.xz", b"x,y\n1,2\n", "--target y", "cannot be decompressed (Input format", 1),
    "fractions": ("a.csv", PLAIN.encode(), "--target y --task classification", "which are no labels; use AdaRegR", 1),
    "fractions in svm": ("a.svm", b"1.5 1:1\n2 1:3\n", "--task classification", "which are no labels; use", 1),
    "a date": ("a.csv", b"d,y\n2020-01-01,2\n2020-01-02,3\n2020-01-03,4\n", "--target y", "drop=['d'] (--drop d)", 1),
    "a date to predict": ("a.csv", b"d,y\n2020-01-01,2\n", "--target d", "neither a number nor text; name another", 1),
    "a cut svm": ("a.svm", b"1 1:1\n0 1:", "", "cannot be read as svmlight", 1),
    "no folder": ("a.csv", PLAIN.encode(), "--target y --checkpoint no/c", "no folder", 1),
    "a folder": ("a.csv", PLAIN.encode(), "--target y --predictions .", "is a folder, not a file for the predictions", 1),
    "no rows a chunk": ("a.csv", PLAIN.encode(), "--target y --chunk-rows 0", "not a whole number of at least 1", 2),
    "many bits": ("a.csv", PLAIN.encode(), "--target y --bits 31", "2^31 columns are too many", 2),
    "two kinds": ("a.csv", PLAIN.encode(), "b.svm --target y", "These files are of several kinds (.csv, .svm)", 1),
    "another kind": ("a.xlsx", b"PK", "--target y", "a.xlsx ends in '.xlsx', and the files that can be", 1),
    "other loss": ("a.csv", b"x,y\n1,up\n", "--target y --start s.adareg --loss hinge", "was trained with loss='log_loss', and", 1),
    "other columns": ("a.csv", b"x,y\n1,up\n", "--target y --start s.adareg --missing zero", "was trained with missing='error'", 1),
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_learnt_from_is_said_in_a_sentence(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name, content, options, sentence, code = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "b.svm").write_text("1 1:1\n")
    if "--start" in options:
        UP.to_csv("start.csv", index=False)
        run("train start.csv --target y --model s.adareg --quiet", capsys)
    _, err = run(f"train {name} {options} --model m.adareg --quiet", capsys, code)
    assert sentence in err
    if code == 1:
        assert err.startswith("adareg: ")
        assert err.count("\n") == 1
        assert len(err) < 500
    assert not (tmp_path / "m.adareg").exists()


def test_models_of_other_kinds_are_refused(tmp_path, monkeypatch, capsys):
    pytest.importorskip("skops")
    monkeypatch.chdir(tmp_path)
    UP.to_csv("a.csv", index=False)
    scaled = make_pipeline(StandardScaler(), AdaRegClassifier()).fit(UP[["x"]], UP["y"])
    save_model(scaled, "scaled.skops")
    save_model(SGDClassifier().fit(UP[["x"]], UP["y"]), "sgd.skops")
    for file, kind in (("scaled.skops", "StandardScaler"), ("sgd.skops", "SGDClassifier")):
        for line in (f"info {file}", f"predict a.csv --model {file}", f"merge {file} {file} -o m.skops"):  # fmt: skip
            _, err = run(line, capsys, code=1)
            assert f"{file} holds a {kind}, and adareg works with the models" in err
