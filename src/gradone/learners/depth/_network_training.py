"""Training of a network on one part of the data, with early stopping on the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...base.errors import NotConverged
from .._callbacks import Step
from ._data import SplitData
from ._network import AdamW, ReluNetwork, one_cycle

RECORDS = 12
"""Comparisons with the held-out rows in one cycle of the rate; before the first there is one more.
"""


@dataclass(frozen=True)
class Schedule:
    """How a network is trained.

    Parameters
    ----------
    steps : int
        Updates of one cycle of the rate.
    batch_size : int
        Rows of an update.
    step_size : float
        Largest rate.
    weight_decay : float
        Of all parameters.
    """

    steps: int
    batch_size: int
    step_size: float
    weight_decay: float


@dataclass
class Trainer:
    """Cycles of AdamW; the network that predicted the held-out rows best is kept.

    Parameters
    ----------
    data : SplitData
        Rows to learn from and rows to compare with.
    schedule : Schedule
        Of every cycle.
    rng : Generator
        Order of the rows.
    """

    data: SplitData
    schedule: Schedule
    rng: np.random.Generator
    network: ReluNetwork | None = None
    best: ReluNetwork | None = None
    best_mse: float = math.inf
    made: int = 0
    steps: list[int] = field(default_factory=list)
    train_mse: list[float] = field(default_factory=list)
    validation_mse: list[float] = field(default_factory=list)

    def run(self, network: ReluNetwork, records: Iterator[Step]) -> bool:
        """Train a network through one cycle of the rate; False if a callback ended it before."""
        for _ in self._cycle(network):
            record = next(records, None)
            if record is None:
                return False
            record.metadata["validation_mse"] = self.validation_mse[-1]
        return True

    def _cycle(self, network: ReluNetwork) -> Iterator[None]:
        """Updates; pauses after every record."""
        data, plan, self.network = self.data, self.schedule, network
        batch = min(plan.batch_size, len(data.y))
        gradient = network.backpropagation(batch)
        optimizer = AdamW(network.parameters, weight_decay=plan.weight_decay)
        every = max(1, -(-plan.steps // RECORDS))
        order, at, losses = np.empty(0, dtype=np.intp), 0, []
        if not self.made:  # what the start is worth: callbacks may measure it
            residual = network(data.X[:batch]) - data.y[:batch]
            self._record(network, 0, float(np.mean(residual**2)))
            yield
        for step in range(plan.steps):
            if at + batch > len(order):  # rows left over by whole batches wait for another epoch
                order, at = self.rng.permutation(len(data.y)), 0
            rows = order[at : at + batch]
            at += batch
            with np.errstate(over="ignore", invalid="ignore"):  # a record will tell
                losses.append(gradient(data.X[rows], data.y[rows]))
                optimizer.step(gradient.gradient, one_cycle(step, plan.steps, plan.step_size))
            if (step + 1) % every == 0 or step + 1 == plan.steps:
                self._record(network, step + 1, float(np.mean(losses)))
                losses = []
                yield
        self.made += plan.steps

    def _record(self, network: ReluNetwork, step: int, loss: float) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            mse = self.data.held_out_mse(network)
        if not (math.isfinite(loss) and math.isfinite(mse)):
            raise NotConverged(
                f"the training error is no longer finite at update {self.made + step}, with "
                f"step_size = {self.schedule.step_size:g}. Use a smaller step_size.",
                last=self.best,
            )
        self.steps.append(self.made + step)
        self.train_mse.append(loss)
        self.validation_mse.append(mse)
        if mse < self.best_mse:
            self.best, self.best_mse = network.copy(), mse
