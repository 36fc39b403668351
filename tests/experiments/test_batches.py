"""In which order and in which portions cells are handed out, and who is suspected of a death."""

import numpy as np

from gradone.experiments.batches import Batches
from gradone.experiments.quarantine import Quarantine
from gradone.experiments.task import Result, Task


def tasks(seconds):
    return [Task(f"{i:032x}", "{}", seconds=s) for i, s in enumerate(seconds)]


def play(batches, durations):
    """All batches, each answered before the next is asked for."""
    found = []
    for batch in batches:
        found.append(batch)
        for task in batch:
            batches.observe(Result(task.key, "done", seconds=durations(task)))
    return found


def test_every_task_is_handed_out_once():
    every = tasks([0.0] * 1000)
    found = play(Batches(every, workers=lambda: 3), lambda task: 0.004)
    assert sorted(task.key for batch in found for task in batch) == [task.key for task in every]


def test_large_cells_come_first_and_the_rest_in_their_order():
    found = play(Batches(tasks([1.0, 5.0, 0.0, 3.0, 0.0]), workers=lambda: 2), lambda task: 1.0)
    assert [int(task.key, 16) for batch in found for task in batch] == [1, 3, 0, 2, 4]


def test_batches_last_about_half_a_second():
    found = play(Batches(tasks([0.0] * 2000), workers=lambda: 2), lambda task: 0.01)
    assert len(found[0]) == 1
    assert 40 <= np.median([len(batch) for batch in found[1:20]]) <= 50


def test_long_cells_go_alone():
    found = play(Batches(tasks([0.0] * 20), workers=lambda: 2), lambda task: 0.6)
    assert {len(batch) for batch in found} == {1}


def test_wrong_estimates_are_corrected():
    """Estimates ten times too small, of cells that become smaller and smaller."""
    every = tasks(np.geomspace(0.1, 0.0001, 400))
    found = play(Batches(every, workers=lambda: 2), lambda task: 10 * task.seconds)
    lengths = [sum(10 * task.seconds for task in batch) for batch in found]
    assert max(length for length, batch in zip(lengths, found, strict=True) if len(batch) > 1) < 0.6


def test_batches_shrink_towards_the_end():
    found = play(Batches(tasks([0.0] * 400), workers=lambda: 2), lambda task: 0.005)
    assert [len(batch) for batch in found][-3:] == [1, 1, 1]


def find_culprits(count, guilty):
    """Play a batch that kills whenever a guilty task is in it; verdicts, and those set free."""
    quarantine, verdicts, free = Quarantine(), [], []
    quarantine.add(tasks([0.0] * count))
    deaths = 0
    while quarantine:
        batch = quarantine.take()
        if any(int(task.key, 16) in guilty for task in batch):
            deaths += 1
            if verdict := quarantine.died(batch, "signal 9, SIGKILL"):
                verdicts.append(int(verdict.key, 16))
        else:
            free += [int(task.key, 16) for task in batch]
    return verdicts, sorted(free), deaths


def test_the_culprits_are_found_and_nobody_else():
    verdicts, free, deaths = find_culprits(256, {17, 200})
    assert sorted(verdicts) == [17, 200]
    assert free == [i for i in range(256) if i not in (17, 200)]
    assert deaths == 1 + 2 * 7 + 2 * 2  # all; one batch of each size from 128 to 2; twice alone


def test_the_verdict_names_the_signal_and_the_memory():
    quarantine = Quarantine()
    task = Task("a" * 32, "{}", bytes=8_000_000_000)
    assert quarantine.died([task], "signal 9, SIGKILL") is None
    verdict = quarantine.died(quarantine.take(), "signal 9, SIGKILL")
    assert verdict.status == "failed"
    assert "SIGKILL" in verdict.error
    assert "about 8.0 GB" in verdict.error
