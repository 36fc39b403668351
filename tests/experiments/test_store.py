"""The store: what goes in comes out bit for bit, whatever else happens to the file."""

import errno
import io
import os
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from gradone.base.errors import BadData
from gradone.experiments import _filesystem, _schema
from gradone.experiments._packing import pack, unpack
from gradone.experiments.store import Counts, Merged, Store, StoreError
from gradone.experiments.task import Result

from .stored_cells import (
    BIG,
    done,
    failed,
    fill_below_a_limit,
    fill_until_full,
    integrity,
    put,
    start_here,
    write_many,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


# ---- bits

KINDS = st.sampled_from(["f8", "f4", "i8", "i4", "u1", "?", "c16", "U7", "M8[s]"])


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=5),
        KINDS.flatmap(lambda kind: npst.arrays(kind, npst.array_shapes(min_dims=0, min_side=0))),
        max_size=4,
    )
)
def test_packing_keeps_names_types_shapes_and_bits(arrays):
    """Would catch: -0.0, NaN, float32 or text of a fixed width changed by the JSON of scalars."""
    found = unpack(*pack(arrays))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


def test_equal_arrays_have_equal_bytes():
    arrays = {"b": np.arange(3.0), "a": np.float64(1 / 3)}
    assert pack(arrays) == pack(dict(reversed(arrays.items())))
    assert pack(arrays)[0] == '{"a":0.3333333333333333}'


def test_objects_are_refused(store):
    with pytest.raises(BadData, match="'x' holds Python objects"):
        put(store, done(1, x=np.array([{}], dtype=object)))


def test_reading_runs_no_code_from_the_file():
    buffer = io.BytesIO()
    np.savez(buffer, names=np.frombuffer(b'["x"]', np.uint8), a0=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        unpack("{}", buffer.getvalue())


def test_a_cell_comes_back_with_all_that_is_known_of_it(store):
    before = time.time()
    put(store, done(7, x=[1.5, 2.5], label="fine"), sweep="first")
    found = store.get(f"{7:032x}")
    assert (found.sweep, found.parameters) == ("first", f'{{"of":"{7:032x}"}}')
    assert before <= found.created <= time.time()
    assert (found.result.seconds, found.result.host) == (0.25, "host")
    np.testing.assert_array_equal(found.result.arrays["x"], [1.5, 2.5])
    assert found.result.arrays["label"] == "fine"
    [writer] = store.provenances()
    assert writer["id"] == found.provenance
    assert np.__version__ in writer["versions"]
    assert os.uname().nodename in writer["machine"]
    with pytest.raises(KeyError):
        store.get("0" * 32)


# ---- one cell, one row


def test_the_first_done_stays_and_failures_give_way(store):
    assert put(store, done(1, x=1.0), failed(2, "first"), failed(3)) == 3
    assert put(store, done(1, x=2.0), failed(1), done(2, x=2.0), failed(3, "second")) == 2
    assert store.get(f"{1:032x}").result.arrays["x"] == 1.0
    assert store.get(f"{2:032x}").result.status == "done"
    assert store.get(f"{3:032x}").result.error == "second"
    assert store.status() == {"s": Counts(done=2, failed=1)}


def test_keys_and_counts_by_sweep_and_status(store):
    put(store, done(1), failed(2), sweep="a")
    put(store, done(2), done(3), failed(4), sweep="b")
    assert store.status() == {"a": Counts(1, 0), "b": Counts(2, 1)}
    assert store.keys("failed") == {f"{4:032x}"}
    assert store.keys(sweep="a") == {f"{1:032x}"}
    assert [r.result.key for r in store.results("b")] == [f"{i:032x}" for i in (2, 3, 4)]
    assert store.has(f"{4:032x}")
    assert not store.has(f"{5:032x}")


def test_failures_are_forgotten_on_demand(store):
    put(store, done(1), failed(2), failed(3), sweep="a")
    put(store, failed(4), sweep="b")
    assert store.forget_failed(keys=[f"{1:032x}", f"{3:032x}"]) == 1
    assert store.forget_failed("a") == 1
    assert store.keys() == {f"{1:032x}", f"{4:032x}"}


# ---- merging


def test_merging_twice_changes_nothing_the_second_time(tmp_path, store):
    put(store, done(1, x=1.0), failed(2))
    for name, results in {
        "a.db": [done(1, x=9.0), done(2, x=2.0), failed(5, "a")],
        "b.db": [done(3), failed(2), done(5)],
    }.items():
        with Store(tmp_path / name) as shard:
            put(shard, *results)
    shards = [tmp_path / "a.db", tmp_path / "b.db"]
    assert store.merge(shards) == Merged(added=4, known=2)
    everything = [(s.result.key, s.result.status, s.created) for s in store.results()]
    assert store.merge(shards) == Merged(added=0, known=6)
    assert [(s.result.key, s.result.status, s.created) for s in store.results()] == everything
    assert store.get(f"{1:032x}").result.arrays["x"] == 1.0
    assert store.status() == {"s": Counts(done=4, failed=0)}
    assert {s.provenance for s in store.results()} <= {p["id"] for p in store.provenances()}


def test_a_wrong_name_among_the_merged_changes_nothing(tmp_path, store):
    with Store(tmp_path / "a.db") as shard:
        put(shard, done(1))
    (tmp_path / "b.db").write_text("a text " * 200)
    with pytest.raises(BadData, match=r"b\.db is not a store"):
        store.merge([tmp_path / "a.db", tmp_path / "b.db"])
    assert store.keys() == set()


# ---- files that are something else


def other_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (x)")
    connection.close()


def newer_store(path):
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize("mode", ["rw", "ro"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_text("# notes\n" * 500), "is not a store of gradone"),
        (other_database, "is a database of another program"),
        (newer_store, "newer version of gradone .format 99.*Update gradone"),
    ],
)
def test_foreign_files_are_refused_and_left_alone(path, mode, make, words):
    make(path)
    before = path.read_bytes()
    with pytest.raises(BadData, match=words):
        Store(path, mode)
    assert path.read_bytes() == before


def test_wrong_places_are_named(tmp_path):
    with pytest.raises(BadData, match="there is no store .*absent.db"):
        Store(tmp_path / "absent.db", "ro")
    with pytest.raises(BadData, match="there is no folder .*nowhere"):
        Store(tmp_path / "nowhere" / "runs.db")


@pytest.mark.parametrize("statement", ["", "PRAGMA journal_mode = WAL"])
def test_a_store_whose_making_was_interrupted_is_empty(path, statement):
    """A process may die between the first byte of the file and its tables."""
    path.touch()
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with Store(path, "ro") as store:
        assert store.keys() == set()
        assert store.status() == {}
    with Store(path) as store:
        assert put(store, done(1)) == 1


def test_a_reader_cannot_write(path, store):
    with Store(path, "ro") as reader, pytest.raises(BadData, match="opened to be read"):
        put(reader, done(1))


@pytest.fixture
def read_only_folder():
    """Folder in which we may not write, also if we are root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield folder
        if os.getuid() == 0:
            os.seteuid(0)
        folder.chmod(0o755)


def test_a_store_in_a_read_only_folder_can_be_read(read_only_folder):
    path = read_only_folder / "runs.db"
    with Store(path) as store:
        put(store, done(1))
    path.chmod(0o444)
    read_only_folder.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(65534)
    with Store(path, "ro") as store:
        assert store.keys() == {f"{1:032x}"}
    with pytest.raises(StoreError, match="cannot be written .*Check its permissions"):
        Store(path)


def test_a_folder_is_no_store(tmp_path):
    """Failed before: "the disk is full"."""
    for mode in ("rw", "ro"):
        with pytest.raises(BadData, match=r"is a folder; a store is one file, such as .*runs\.db"):
            Store(tmp_path, mode)


def test_a_read_only_filesystem_is_a_clear_error(tmp_path, monkeypatch):
    """There even taking a file away that does not exist is an error, which went through before."""

    def refuse(self, **options):
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: connect_nowhere())
    with pytest.raises(StoreError, match=r"runs\.db cannot be used \(unable to open"):
        Store(tmp_path / "runs.db")


def connect_nowhere(connect=sqlite3.connect):
    return connect("/no/such/folder/runs.db")


def test_an_error_with_half_a_character_is_stored(path, store):
    """Failed before: UnicodeEncodeError, and with it the end of the whole sweep."""
    broken = Result(f"{7:032x}", "failed", error="no file 'caf\udce9.csv'")
    assert put(store, broken) == 1
    assert store.get(broken.key).result.error == r"no file 'caf\udce9.csv'"


# ---- several at once


def test_readers_see_what_is_committed_while_a_writer_is_at_work(path, store):
    put(store, done(1))
    with Store(path, "ro") as reader, store._transaction():
        store._connection.execute("DELETE FROM cell")
        assert reader.keys() == {f"{1:032x}"}
    assert Store(path, "ro").keys() == set()


def test_four_processes_make_and_fill_one_store(path):
    crowd = [start_here(write_many, path, time.time() + 2) for _ in range(4)]
    for process in crowd:
        process.communicate()
    assert [process.returncode for process in crowd] == [0, 0, 0, 0]
    with Store(path, "ro") as store:
        assert store.status() == {"s": Counts(done=60, failed=0)}
        assert store.recall("cells") == "60"
    assert integrity(path) == "ok"


# ---- no room


def test_a_full_disk_is_a_clear_error_and_loses_nothing(path):
    with Store(path) as store:
        store._connection.execute("PRAGMA max_page_count = 40")
        stored, why = fill_until_full(store, BIG)
    check_nothing_is_lost(path, stored, why)


def test_a_limit_on_the_size_of_files_is_a_clear_error_and_loses_nothing(path):
    process = start_here(fill_below_a_limit, path)
    stored, _, why = process.communicate()[0].partition(" ")
    check_nothing_is_lost(path, int(stored), why)


def check_nothing_is_lost(path, stored, why):
    assert "the disk is full" in why
    assert "all earlier ones are" in why
    assert 0 < stored < len(BIG)
    with Store(path) as store:
        assert store.keys() == {result.key for result in BIG[:stored]}
        put(store, *BIG)
        assert [float(s.result.arrays["x"][-1]) for s in store.results()] == list(range(len(BIG)))
    assert integrity(path) == "ok"


# ---- network filesystems


def journal(path):
    connection = sqlite3.connect(path)
    [mode] = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    return mode


def test_on_a_local_disk_the_log_is_written_ahead(path, store):
    assert journal(path) == "wal"


def test_on_a_network_filesystem_it_is_not(path, monkeypatch, caplog):
    monkeypatch.setattr(_schema, "filesystem", lambda path: "nfs4")
    with Store(path) as store:
        put(store, done(1))
    assert journal(path) == "delete"
    assert "only one process at a time" in caplog.text


def test_where_the_probe_fails_it_is_not(path, monkeypatch):
    monkeypatch.setattr(_schema, "can_write_ahead", lambda folder: False)
    Store(path).close()
    assert journal(path) == "delete"


def test_the_probe_leaves_nothing(tmp_path):
    assert _filesystem.can_write_ahead(tmp_path)
    assert not _filesystem.can_write_ahead(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []


def test_the_filesystem_is_that_of_the_longest_mount_point(monkeypatch):
    table = "/dev/a / ext4 rw 0 0\nserver:/x /data\\040set nfs4 rw 0 0\n/dev/b /data ext3 rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda self, **options: table)
    kinds = [_filesystem.filesystem(Path(p)) for p in ("/data set/runs", "/data/x", "/etc")]
    assert kinds == ["nfs4", "ext3", "ext4"]


# ---- speed


def test_the_status_of_many_cells_is_quick(path):
    """100,000 cells with 4 kB each must not be read to be counted."""
    with Store(path) as store:
        connection = store._connection
        connection.execute("BEGIN")
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) "
            "INSERT INTO cell SELECT printf('%032x', i), 'sweep ' || (i % 3), '{}', "
            "iif(i % 10, 'done', 'failed'), '{}', zeroblob(400), 1, '', '', 1, '', x'00' FROM n"
        )
        connection.execute("COMMIT")
    with Store(path, "ro") as store:
        start = time.process_time()
        counts = store.status()
        assert time.process_time() - start < 1
        assert sum(counts["sweep 0"]) == 33334
        start = time.process_time()
        assert len(store.keys("failed")) == 10_000
        assert time.process_time() - start < 1
