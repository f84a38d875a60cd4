"""A file is written whole or not at all: by a new file of a name of its own, which replaces the old one."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from sklearn_adareg import AdaRegRegressor, load_model, save_model
from sklearn_adareg.persistence._output_files import OutputFile, check_outputs
from sklearn_adareg.streams import _checkpoint, fit_stream

posix = pytest.mark.skipif(os.name != "posix", reason="links, permissions, pipes and devices")
CHUNKS = [([[float(i)]], [i % 3]) for i in range(40)]
MODEL = AdaRegRegressor().partial_fit([[0.0], [1.0]], [0.0, 2.0])


def learnt(path):
    """A predictions file, and no checkpoint."""
    fit_stream(AdaRegRegressor(), CHUNKS, predictions=path, progress=False)


WRITERS = {
    "model": lambda path: save_model(MODEL, path),
    "checkpoint": lambda path: _checkpoint.write(path, {"rows": 1}),
    "predictions": learnt,
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


class Stop(BaseException):
    """As KeyboardInterrupt is, no Exception."""


@every_writer
def test_what_is_written_is_all_that_is_left(write, tmp_path):
    write(tmp_path / "out.adareg")
    write(tmp_path / "out.adareg")
    assert [path.name for path in tmp_path.iterdir()] == ["out.adareg"]


@every_writer
def test_an_interrupt_leaves_the_old_file_and_no_other(write, tmp_path, monkeypatch):
    def stop(*_):
        raise Stop

    (tmp_path / "out.adareg").write_text("old")
    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(Stop):
        write(tmp_path / "out.adareg")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.adareg", "old")]


FULL = """
import resource, signal, sys
sys.path[:0] = sys.argv[3:]
from test_output_files import WRITERS
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))  # writing fails as on a full disk
try:
    WRITERS[sys.argv[1]](sys.argv[2])
except OSError as error:
    print(type(error).__name__, error)
"""


@posix
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file_and_no_other(name, tmp_path):
    (tmp_path / "out.adareg").write_text("old")
    places = [os.path.dirname(__file__), *sys.path]
    said = subprocess.run(
        [sys.executable, "-c", FULL, name, tmp_path / "out.adareg", *places],
        capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert said.stdout.startswith("OSError [Errno 27]"), said.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.adareg", "old")]


@posix
@every_writer
def test_a_link_planted_where_a_fixed_name_would_be_is_left_alone(write, tmp_path):
    (tmp_path / "precious").write_text("rows")
    (tmp_path / "out.adareg.part").symlink_to("precious")
    write(tmp_path / "out.adareg")
    assert (tmp_path / "precious").read_text() == "rows"
    assert (tmp_path / "out.adareg.part").is_symlink()


@posix
def test_what_a_link_points_to_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.adareg").symlink_to("there/model.adareg")
    for _ in range(2):  # the first one is dangling
        save_model(MODEL, tmp_path / "link.adareg")
        assert (tmp_path / "link.adareg").is_symlink()
        assert load_model(tmp_path / "there" / "model.adareg").t_ == 2
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["model.adareg"]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o666])
def test_permissions_are_those_of_the_old_file_or_of_any_new_one(mode, tmp_path):
    def found(name):
        return stat.S_IMODE((tmp_path / name).stat().st_mode)

    (tmp_path / "plain").touch()
    save_model(MODEL, tmp_path / "m.adareg")
    assert found("m.adareg") == found("plain")
    (tmp_path / "m.adareg").chmod(mode)
    save_model(MODEL, tmp_path / "m.adareg")
    assert found("m.adareg") == mode


def test_a_write_protected_file_is_not_replaced(tmp_path, monkeypatch):
    save_model(MODEL, tmp_path / "m.adareg")
    (tmp_path / "m.adareg").chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    with pytest.raises(PermissionError, match=r"is write-protected; allow it to be written, or"):
        save_model(MODEL, tmp_path / "m.adareg")


def test_an_error_names_the_file_that_was_asked_for(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", "out.adareg.0123.part")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError) as refused:
        save_model(MODEL, tmp_path / "out.adareg")
    assert refused.value.filename == str(tmp_path / "out.adareg")


@posix
@every_writer
def test_devices_are_written_to(write, tmp_path):
    (tmp_path / "null.adareg").symlink_to(os.devnull)
    write(tmp_path / "null.adareg")
    assert stat.S_ISCHR((tmp_path / "null.adareg").stat().st_mode)


@posix
@every_writer
def test_a_pipe_is_written_to(write, tmp_path):
    os.mkfifo(tmp_path / "pipe.adareg")
    received = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe.adareg").read_bytes()))
    reader.start()
    write(tmp_path / "pipe.adareg")
    reader.join()
    write(tmp_path / "file.adareg")
    assert [len(part) for part in received] == [(tmp_path / "file.adareg").stat().st_size]


@posix
def test_predictions_to_a_pipe_are_not_resumed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"is no file, so that predictions .* cannot be resumed"):
        fit_stream(MODEL, CHUNKS, checkpoint=tmp_path / "c", predictions=tmp_path / "pipe", progress=False)


TWO = """
import sys
from sklearn_adareg import AdaRegRegressor
from sklearn_adareg.streams import fit_stream
chunks = [([[float(i)]], [i % 3]) for i in range(400)]
fit_stream(AdaRegRegressor(), chunks, checkpoint="c", every=1, predictions="p.csv", progress=False)
"""


def test_two_processes_on_one_checkpoint_do_not_die(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    program = [sys.executable, "-c", TWO]
    both = [
        subprocess.Popen(program, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in both:
        with process:
            assert process.stderr.read() == ""
        assert process.returncode == 0
    assert _checkpoint.read(tmp_path / "c")["rows"] == 400
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 401


def test_predictions_of_an_interrupted_run_stay_beside_their_checkpoint_until_it_ends(tmp_path):
    def stop(progress):
        if progress.rows == 20:
            raise Stop

    def run(progress, **options):
        fit_stream(AdaRegRegressor(), CHUNKS, predictions=tmp_path / "p.csv", progress=progress, **options)

    with pytest.raises(Stop):
        run(stop)
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        with pytest.raises(Stop):
            run(stop, checkpoint=tmp_path / "c", every=7)
        assert len(list(tmp_path.glob("p.csv.*.part"))) == 1
        assert not (tmp_path / "p.csv").exists()
    run(False, checkpoint=tmp_path / "c", every=7)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "p.csv"]
    whole = (tmp_path / "p.csv").read_bytes()
    learnt(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_bytes() == whole


def test_a_process_that_dies_right_after_its_last_checkpoint_has_its_predictions(tmp_path, monkeypatch):
    real = os.replace

    def die(part, target):
        if target.name == "p.csv":
            raise Stop
        real(part, target)

    def run():
        files = {"checkpoint": tmp_path / "c", "predictions": tmp_path / "p.csv"}
        fit_stream(AdaRegRegressor(), CHUNKS, progress=False, **files)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", die)
        with pytest.raises(Stop):
            run()
    assert not (tmp_path / "p.csv").exists()
    run()
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 41


def test_a_text_file_is_in_the_encoding_asked_for(tmp_path):
    with OutputFile(tmp_path / "t", encoding="utf-8") as file:
        file.write("é")
    assert (tmp_path / "t").read_bytes() == "é".encode()


def test_outputs_need_a_folder_and_a_place_of_their_own(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no folder .* for the model; make it"):
        check_outputs([("the model", tmp_path / "no" / "m")])
    with pytest.raises(IsADirectoryError, match="is a folder, not a file for the model"):
        check_outputs([("the model", tmp_path)])
    with pytest.raises(ValueError, match=r"The checkpoint would replace the model in .* name another"):
        check_outputs([("the model", tmp_path / "m"), ("the checkpoint", f"{tmp_path}/./m")])
    check_outputs([("the model", os.devnull), ("the checkpoint", os.devnull)], [os.devnull])
