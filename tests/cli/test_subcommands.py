"""The command, as a shell calls it: exit codes, what it prints, and files that hold what Python would have learnt."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline

import sklearn_adareg
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, load_model
from sklearn_adareg.cli import main
from sklearn_adareg.streams import TableEncoder, fit_stream

pytest.importorskip("pyarrow")
rng = np.random.default_rng(0)
ROWS = 600
X = rng.normal(size=(ROWS, 3)) * [1, 20, 0.1]
SCORE = X @ [1, 0.05, 3] + rng.normal(size=ROWS)
TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    shop=rng.choice(["x", "y"], ROWS), answer=np.where(SCORE > 0, "yes", "no"), price=SCORE
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    TABLE.drop(columns="price").to_parquet(tmp_path / "rows.parquet")
    TABLE.drop(columns="answer").to_csv(tmp_path / "rows.csv", index=False)
    dump_svmlight_file(X, np.where(SCORE > 0, 1, -1), str(tmp_path / "rows.svm"), zero_based=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line, capsys, code=0):
    """What a command prints, (out, err)."""
    found = main(line.split())
    printed = capsys.readouterr()
    assert found == code, printed.err
    return printed


def learnt(target, source, model=None):
    model = make_pipeline(TableEncoder(), model or AdaRegClassifier())
    return fit_stream(model, source, target=target, progress=False)


@pytest.mark.parametrize("file", ["m.adareg", "m.skops"])
def test_train_saves_the_model_that_fit_stream_makes(file, folder, capsys):
    if file.endswith("skops"):
        pytest.importorskip("skops")
    out, err = run(f"train rows.parquet --target answer --model {file}", capsys)
    own, found = learnt("answer", "rows.parquet"), load_model(file)
    rows = TABLE.drop(columns=["answer", "price"])
    np.testing.assert_array_equal(found.predict_proba(rows), own.predict_proba(rows))
    assert err == ""
    assert "task            classification (the target is text)" in out
    assert "\nhashed " in out
    assert f"average loss    {own[-1].progressive_loss_:.6f}" in out
    more = TABLE[:100]
    for model in (own, found):  # it goes on, with all its state
        model[-1].partial_fit(model[0].transform(more), more["answer"].to_numpy())
    np.testing.assert_array_equal(found[-1].coef_, own[-1].coef_)


def test_the_table_has_a_line_for_each_power_of_two(folder, capsys):
    out, _ = run("train rows.parquet --target answer --model m.adareg --chunk-rows 100", capsys)
    lines = [line.split() for line in out.splitlines() if line.startswith("  0.")]
    assert [line[2] for line in lines] == [*map(str, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]), "600"]
    curve = learnt("answer", "rows.parquet")[-1].progressive_curve_
    at = dict(zip(curve["rows"].tolist(), curve["mean_loss"].tolist(), strict=True))
    assert float(lines[-2][0]) == pytest.approx(at[512], abs=1e-6)
    since = (600 * at[600] - 512 * at[512]) / 88
    assert float(lines[-1][1]) == pytest.approx(since, abs=1e-5)


def test_csv_regression_and_parameters(folder, capsys):
    run(
        "train rows.csv --target price --model m.adareg --structure diag --set eta=0.5 --set scaling=None --loss huber --quiet",
        capsys,
    )
    last = load_model("m.adareg")[-1]
    assert type(last) is AdaRegRegressor
    assert (last.structure, last.eta, last.scaling, last.loss) == ("diag", 0.5, None, "huber")
    own = learnt("price", "rows.csv", AdaRegRegressor(structure="diag", eta=0.5, scaling=None, loss="huber"))
    np.testing.assert_array_equal(last.coef_, own[-1].coef_)


def test_svmlight_and_classes(folder, capsys):
    run("train rows.svm --model m.adareg --classes=-1,1 --features 3 --quiet", capsys)
    model = load_model("m.adareg")
    own = fit_stream(AdaRegClassifier(), "rows.svm", progress=False)
    np.testing.assert_array_equal(model.coef_, own.coef_)
    out, err = run("predict rows.svm --model m.adareg", capsys)
    assert [int(line) for line in out.split()[1:]] == model.predict(X).tolist()
    assert f"error rate           {np.mean(model.predict(X) != np.sign(SCORE)):.6g}" in err


def test_predict_writes_labels_probabilities_and_losses(folder, capsys):
    run("train rows.parquet --target answer --model m.adareg --quiet", capsys)
    model, rows = load_model("m.adareg"), TABLE.drop(columns=["answer", "price"])
    out, err = run("predict rows.parquet --model m.adareg", capsys)
    assert out.split() == ["prediction", *model.predict(rows)]
    assert err == ""
    _, err = run("predict rows.parquet --model m.adareg --proba --target answer --output p.csv", capsys)
    written = pd.read_csv("p.csv")
    assert list(written) == ["probability:no", "probability:yes"]
    np.testing.assert_array_equal(written, model.predict_proba(rows))
    loss = -np.log(written.to_numpy()[np.arange(ROWS), (TABLE["answer"] == "yes").astype(int)]).mean()
    assert f"log-loss             {loss:.6g}" in err


def test_categories_missing_values_and_weights(folder, capsys):
    table = TABLE.assign(zip=[f"{i % 7:02d}" for i in range(ROWS)], w=np.arange(ROWS) % 3)
    table.loc[3, "a"] = np.nan
    table.drop(columns="answer").to_csv("odd.csv", index=False)
    command = "train odd.csv --target price --model m.adareg --quiet --categorical zip --drop b --weight w --bits 10"
    _, err = run(command, capsys, code=1)
    assert "has a missing value" in err
    assert err.endswith("In rows 0 to 599 of odd.csv.\n")
    run(f"{command} --missing indicator", capsys)
    encoder, last = load_model("m.adareg")
    assert encoder.numeric_ == ["a", "c"]
    assert sorted(encoder.hashed_) == ["shop", "zip"]
    assert last.t_ == np.count_nonzero(table["w"])
    out, _ = run("predict odd.csv --model m.adareg", capsys)
    given = table.drop(columns=["answer", "price", "w"])  # the code 00 is text in both
    np.testing.assert_allclose(
        [float(line) for line in out.split()[1:]], load_model("m.adareg").predict(given), rtol=1e-12
    )


def test_start_goes_on_from_a_model(folder, capsys):
    TABLE[:400].to_parquet("one.parquet")
    TABLE[400:].to_parquet("two.parquet")
    options = "--target price --drop answer --quiet"
    run(f"train one.parquet {options} --model one.adareg", capsys)
    run(f"train two.parquet {options} --model two.adareg --start one.adareg", capsys)
    run(f"train one.parquet two.parquet {options} --model both.adareg", capsys)
    np.testing.assert_array_equal(load_model("two.adareg")[-1].coef_, load_model("both.adareg")[-1].coef_)


def test_info_is_a_card(folder, capsys):
    run("train rows.parquet --target answer --model m.adareg --set alpha=1e-6 --quiet", capsys)
    out, _ = run("info m.adareg --weights 2", capsys)
    last = load_model("m.adareg")[-1]
    assert out.startswith("AdaRegClassifier(alpha=1e-06)\n")
    for line in (
        "classes         no, yes (2)",
        "numbers         a, b, c (3)",
        "hashed          shop (1), into 262,144 columns",
        "rows            600",
        f"average loss    {last.progressive_loss_:.6g}",
        f"certificate     loss ≤ {last.risk_certificate().loss:.6g}, error rate ≤ ",
        ", each with probability 0.95",
    ):
        assert line in out
    strongest = "abc"[np.abs(last.coef_[0, :3]).argmax()]
    assert f"{last.coef_[0, :3][np.abs(last.coef_[0, :3]).argmax()]:14.6g}  {strongest}\n" in out


def test_info_names_hashed_values_with_the_weight_that_they_have_in_a_prediction(folder, capsys):
    shops = [f"s{i}" for i in range(40)]
    rows = pd.DataFrame({"shop": shops * 5}).assign(price=np.tile(np.arange(40.0) - 20, 5))
    model = learnt("price", [rows], AdaRegRegressor())
    sklearn_adareg.save_model(model, "m.adareg")
    out, _ = run("info m.adareg --weights 40", capsys)
    shown = dict(line.split()[::-1] for line in out.splitlines() if "  shop=" in line)
    assert len(shown) == 40
    alone = model.predict(pd.DataFrame({"shop": shops})) - model[-1].intercept_
    for shop, weight in zip(shops, alone, strict=True):  # with the sign of the hash
        assert float(shown[f"shop={shop}"]) == pytest.approx(weight, rel=1e-4)

    model[0].hashed_values_ = {"shop": np.array(["s1"])}  # as if the others had come too late
    sklearn_adareg.save_model(model, "m.adareg")
    out, _ = run("info m.adareg", capsys)
    assert ": a value of shop without a name\n" in out

    model = make_pipeline(TableEncoder(n_hashed=4), AdaRegRegressor())
    fit_stream(model, [rows], target="price", progress=False)
    model[0].hashed_values_ = {"shop": np.array([f"s{i}" for i in range(1500)])}
    sklearn_adareg.save_model(model, "m.adareg")
    out, _ = run("info m.adareg --weights 1", capsys)
    assert " (shares its column with " in out
    assert "shop (1): only the first 1,000 values have names below" in out


def test_a_european_file_is_the_same_file(folder, capsys):
    table = TABLE.drop(columns="answer")
    table.to_csv("euro.csv", index=False, sep=";", decimal=",")
    run("train rows.csv --target price --model a.adareg --quiet", capsys)
    run("train euro.csv --target price --model b.adareg --quiet --decimal ,", capsys)
    run("train euro.csv --target price --model c.adareg --quiet --decimal , --delimiter ;", capsys)
    expected, _ = run("predict rows.csv --model a.adareg", capsys)
    for file in "bc":
        found, _ = run(f"predict euro.csv --model {file}.adareg --decimal ,", capsys)
        assert found == expected
    table.to_csv("tabs.txt.csv", index=False, sep="\t", decimal=",")
    found, _ = run("predict tabs.txt.csv --model a.adareg --decimal , --delimiter tab", capsys)
    assert found == expected


def test_info_of_several_classes_and_of_a_bare_model(folder, capsys):
    model = AdaRegClassifier().fit(X, np.digitize(SCORE, [-1, 1]))
    sklearn_adareg.save_model(model, "m.adareg")
    out, _ = run("info m.adareg", capsys)
    assert "9 of 9 weights" in out
    assert out.count("intercept  (") == 3
    sklearn_adareg.save_model(AdaRegRegressor().fit(X, SCORE), "r.adareg")
    out, _ = run("info r.adareg", capsys)
    assert "certificate     none: loss='squared_error' is unbounded" in out
    sklearn_adareg.save_model(AdaRegClassifier().fit(X, SCORE > 0, 2 + SCORE**2), "w.adareg")
    out, _ = run("info w.adareg", capsys)
    assert "certificate     none: This model has learnt from rows with weights other than 1" in out


def test_merge_makes_one_model_of_several(folder, capsys):
    half = TABLE.drop(columns="price")
    half[:300].to_parquet("one.parquet")
    half[300:].to_parquet("two.parquet")
    for name in ("one", "two"):
        run(f"train {name}.parquet --target answer --classes no,yes --model {name}.adareg --quiet", capsys)
    run("merge one.adareg two.adareg -o both.adareg", capsys)
    parts = [load_model(f"{name}.adareg") for name in ("one", "two")]
    merged, expected = load_model("both.adareg"), sklearn_adareg.merge([m[-1] for m in parts])
    np.testing.assert_array_equal(merged[-1].coef_, expected.coef_)
    assert merged[-1].t_ == ROWS
    scores = [model.score(half.drop(columns="answer"), half["answer"]) for model in (merged, *parts)]
    assert scores[0] > 0.8
    out, _ = run("info both.adareg", capsys)
    assert "rows            600" in out
    run("train rows.svm --model b.adareg --quiet", capsys)
    _, err = run("merge one.adareg b.adareg -o c.adareg", capsys, code=1)
    assert "Some of these models read tables" in err
    run("train rows.parquet --target answer --set eta=0.5 --model c.adareg --quiet", capsys)
    _, err = run("merge one.adareg c.adareg -o d.adareg", capsys, code=1)
    assert "since eta is 'auto' in one and 0.5 in another" in err


REFUSED = {
    "train none.csv --target y --model m.adareg": "There is no file none.csv",
    "train rows.csv --model m.adareg": "--target is missing",
    "train rows.csv --target q --model m.adareg": "has no column 'q'",
    "train rows.csv --target q --task regression --model m.adareg": "none of that name",
    "train rows.csv --target q --task classification --model m.adareg": "has no column 'q'",
    "train rows.csv --target price --model m.pickle": "let it end in .skops",
    "train rows.csv --target price --model no/m.adareg": "There is no folder",
    "train rows.csv --target price --model m.adareg --set nothing=1": "has no parameter 'nothing'",
    "train rows.csv --target price --model m.adareg --set eta=-1": "'eta' parameter",
    "train rows.csv --target price --model m.adareg --features 3": "--features does not go with rows.csv",
    "train rows.svm --target price --model m.adareg": "leave them out",
    "train semicolons.csv --target price --model m.adareg": "set delimiter=';' (--delimiter ';')",
    "train commas.csv --target price --model m.adareg": "decimal=',' (--decimal ,)",
    "train commas.csv --target price --model m.adareg --delimiter ;": "'size' of commas.csv has values such as '1,5'",
    "predict rows.csv --model table.adareg --target q": "its columns are ",
    "info none.adareg": "There is no file none.adareg",
    "info rows.adareg": "cannot be read as a model",
    "predict rows.csv --model bare.adareg": "trained on another kind of file",
    "predict rows.svm --model hinge.adareg --proba": "has no probabilities",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_done_is_said_in_a_sentence_with_code_1(line, folder, capsys):
    (folder / "rows.adareg").write_text("no zip")
    (folder / "semicolons.csv").write_text("size;price\n1;2\n")
    (folder / "commas.csv").write_text("size;price\n1,5;2\n")
    fitted = make_pipeline(TableEncoder(), AdaRegClassifier()).fit(TABLE, SCORE > 0)
    sklearn_adareg.save_model(fitted, "table.adareg")
    sklearn_adareg.save_model(AdaRegClassifier().fit(X, SCORE > 0), "bare.adareg")
    sklearn_adareg.save_model(AdaRegClassifier(loss="hinge").fit(X, SCORE > 0), "hinge.adareg")
    _, err = run(line, capsys, code=1)
    assert REFUSED[line] in err
    assert err.startswith("adareg: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("line", ["nonsense", "train", "train x.csv", "train x.csv --model m --set a"])
def test_a_wrong_command_line_is_code_2(line, capsys):
    with pytest.raises(SystemExit) as left:
        main(line.split())
    assert left.value.code == 2
    assert main([]) == 2


def test_help_teaches(capsys):
    for line in ("--help", "train --help", "predict --help", "info --help"):
        with pytest.raises(SystemExit) as left:
            main(line.split())
        assert left.value.code == 0
    out = capsys.readouterr().out
    for text in ("adareg train clicks.parquet", "Exit codes", "--checkpoint", "a progressive estimate"):
        assert text in out


PYTHON = [sys.executable, "-m", "sklearn_adareg"]


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}


@pytest.mark.slow
def test_it_runs_as_a_module_and_ends_quietly_when_its_reader_does(tmp_path):
    env = environment()
    TABLE.drop(columns="answer").to_csv(tmp_path / "rows.csv", index=False)
    train = subprocess.run(
        [*PYTHON, "train", "rows.csv", "--target", "price", "--model", "m.adareg"],
        cwd=tmp_path, env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert (train.returncode, train.stderr) == (0, "")
    assert "rows            600" in train.stdout
    predict = subprocess.Popen(
        [*PYTHON, "predict", "rows.csv", "--model", "m.adareg"],
        cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with predict:
        assert predict.stdout.readline() == "prediction\n"
        predict.stdout.close()
        predict.wait()
        assert predict.stderr.read() == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_is_code_130_and_a_checkpoint_goes_on(tmp_path):
    env = environment()
    big = pd.concat([TABLE.drop(columns="answer")] * 60, ignore_index=True)
    big.to_parquet(tmp_path / "rows.parquet")
    line = "train rows.parquet --target price --model m.adareg --checkpoint c --every 1 --chunk-rows 200 --bits 6"
    process = subprocess.Popen(
        [*PYTHON, *line.split()], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    with process:
        while not process.stdout.readline().lstrip().startswith("0."):
            pass
        while not (tmp_path / "c").exists():  # to be resumed from a checkpoint, not begun anew
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.wait()
        assert process.returncode == 130
        assert process.stderr.read().strip() == "adareg: stopped."
    assert not (tmp_path / "m.adareg").exists()
    again = subprocess.run([*PYTHON, *line.split()], cwd=tmp_path, env=env, capture_output=True)
    assert again.returncode == 0
    own = make_pipeline(TableEncoder(n_hashed=64), AdaRegRegressor())
    fit_stream(own, tmp_path / "rows.parquet", target="price", progress=False)
    np.testing.assert_array_equal(load_model(tmp_path / "m.adareg")[-1].coef_, own[-1].coef_)
