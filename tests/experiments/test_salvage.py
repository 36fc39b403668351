"""Damaged stores: what their pages still hold comes out bit for bit, and the rest is counted."""

import sqlite3

import numpy as np
import pytest

from gradone.base.errors import BadData
from gradone.experiments.salvage import salvage
from gradone.experiments.store import Store, StoreError
from gradone.experiments.task import Result

PAGE = 4096
CELLS = 60


def fill(path):
    """Cells of many lengths: some share a page, some need a chain of overflow pages."""
    rng = np.random.default_rng(5)
    with Store(path) as store:
        store.remember("spec", "small")
        for i in range(CELLS):
            size = int(10 ** rng.uniform(0, 3.2))
            arrays = {"x": rng.standard_normal(size), "i": np.asarray(i)}
            failed = i % 9 == 0
            result = Result(f"{i:032x}", "failed", {}, "no") if failed else None
            result = result or Result(f"{i:032x}", "done", arrays, "", 0.5, "host")
            store.put([result], sweep="s", parameters={result.key: f'{{"i":{i}}}'})


@pytest.fixture
def path(tmp_path):
    fill(tmp_path / "runs.db")
    return tmp_path / "runs.db"


def contents(path):
    with Store(path, "ro") as store:
        return {
            stored.result.key: (
                stored.parameters,
                stored.result.status,
                stored.created,
                {name: array.tobytes() for name, array in stored.result.arrays.items()},
            )
            for stored in store.results()
        }


def readable(path):
    """Keys of the rows that SQLite itself can read, one by one by their number."""
    found = set()
    connection = sqlite3.connect(path)
    for number in range(1, CELLS + 1):
        try:
            row = connection.execute("SELECT * FROM cell WHERE rowid = ?", (number,)).fetchone()
        except sqlite3.DatabaseError:
            continue
        if row:
            found.add((row[0], hash(row)))
    connection.close()
    return found


@pytest.fixture
def homes(path):
    """For each page that is no inner node, the cells that need it, found out by SQLite alone."""
    raw = path.read_bytes()
    before = readable(path)
    copy = path.with_name("copy.db")
    needs = {}
    for number in range(2, len(raw) // PAGE + 1):
        start = (number - 1) * PAGE
        if raw[start] == 0x05:  # an inner node of a table: rows do not lie in it
            continue
        copy.write_bytes(raw[:start] + b"\xff" * PAGE + raw[start + PAGE :])
        lost = {key for key, _ in before - readable(copy)}
        if len(lost) < CELLS:
            needs[number] = lost
    copy.unlink()
    return needs


def test_every_cell_whose_pages_survive_a_cut_is_saved(path, homes):
    """Would catch: a row whose last overflow page is lost, saved with zeros at its end."""
    raw, whole = path.read_bytes(), contents(path)
    for pages in range(len(homes) // 4, len(raw) // PAGE, 7):
        path.write_bytes(raw[: pages * PAGE + PAGE // 2])
        gone = set().union(*(keys for number, keys in homes.items() if number > pages + 1))
        half = homes.get(pages + 1, set())  # half of this page is left, with some of its rows
        found = salvage(path, path.with_name(f"new{pages}.db"))
        saved = contents(found.path)
        assert whole.keys() - gone - half <= saved.keys() <= whole.keys() - gone
        assert all(saved[key] == whole[key] for key in saved)
        assert (found.saved, found.lost) == (len(saved), CELLS - len(saved))
        assert found.lost_is_exact
        assert found.lost > 0


def test_every_cell_outside_of_overwritten_pages_is_saved(path, homes, rng):
    raw, whole = path.read_bytes(), contents(path)
    for trial in range(5):
        damaged = bytearray(raw)
        hit = rng.choice(sorted(homes), size=3, replace=False)
        for number in hit:
            damaged[(number - 1) * PAGE : number * PAGE] = rng.bytes(PAGE)
        path.write_bytes(damaged)
        lost = set().union(*(homes[number] for number in hit))
        found = salvage(path, path.with_name(f"new{trial}.db"))
        assert contents(found.path) == {key: whole[key] for key in whole.keys() - lost}
        if found.lost_is_exact:
            assert found.lost == len(lost)


def test_a_store_that_was_cut_off_says_how_to_save_the_rest(path):
    path.write_bytes(path.read_bytes()[: 20 * PAGE])
    before = path.read_bytes()
    for mode in ("rw", "ro"):
        with pytest.raises(StoreError, match=r"damaged .*\n .*--salvage --store .*runs.db"):
            Store(path, mode)
    assert path.read_bytes() == before


def test_a_flipped_bit_in_a_cell_is_noticed(path):
    raw, whole = path.read_bytes(), contents(path)
    at = raw.index(b'{"i":31}')
    path.write_bytes(raw[:at] + b'{"i":37}' + raw[at + 8 :])
    with Store(path, "ro") as store, pytest.raises(StoreError, match="is damaged"):
        store.get(f"{31:032x}")
    found = salvage(path)
    assert (found.saved, found.lost) == (CELLS - 1, 1)
    assert contents(found.path) == {key: whole[key] for key in whole if key != f"{31:032x}"}


def test_a_lost_first_page_is_no_obstacle(path):
    """It holds the names of all tables, without which SQLite reads nothing."""
    whole = contents(path)
    path.write_bytes(bytes(PAGE) + path.read_bytes()[PAGE:])
    with pytest.raises(BadData, match="is not a store"):
        Store(path)
    found = salvage(path)
    assert contents(found.path) == whole
    assert (found.saved, found.lost) == (CELLS, 0)


def test_without_the_count_lost_cells_are_known_from_the_index(path):
    raw = path.read_bytes()
    damaged = bytearray(raw)
    at = raw.index(b"cells" + str(CELLS).encode())
    damaged[at : at + 5] = b"sllec"
    row = raw.index(f"{12:032x}".encode() + b"s{")  # the key as it stands in its row
    damaged[row + 40 : row + 60] = b"?" * 20
    path.write_bytes(damaged)
    found = salvage(path)
    assert (found.saved, found.lost, found.lost_is_exact) == (CELLS - 1, 1, False)


def test_what_is_only_in_the_log_is_saved_too(tmp_path):
    path = tmp_path / "runs.db"
    store = Store(path)
    fill(path)  # the open connection keeps the log from being copied into the file
    whole = contents(path)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(path.read_bytes()[: 2 * PAGE])
    log = path.with_name("runs.db-wal").read_bytes()
    damaged.with_name("damaged.db-wal").write_bytes(log)
    store.close()
    found = salvage(damaged)
    assert contents(found.path) == whole
    assert found.lost == 0


def test_forgotten_failures_do_not_come_back(path):
    with Store(path) as store:
        assert store.forget_failed() == 7
    found = salvage(path)
    assert (found.saved, found.lost) == (CELLS - 7, 0)


def test_the_rest_of_the_store_comes_along(path):
    found = salvage(path)
    with Store(found.path, "ro") as new, Store(path, "ro") as old:
        assert new.provenances() == old.provenances()
        assert new.recall("spec") == "small"
        assert new.status() == old.status()


def test_what_cannot_be_saved_is_said(tmp_path, path):
    text = tmp_path / "notes.txt"
    text.write_text("no database at all " * 999)
    with pytest.raises(BadData, match="holds no cell"):
        salvage(text)
    assert not (tmp_path / "notes-salvaged.txt").exists()
    with pytest.raises(BadData, match="exists already"):
        salvage(path, text)
    with pytest.raises(BadData, match="there is no file"):
        salvage(tmp_path / "absent.db")
