"""Cells on a Dask cluster: one that runs already, or one of our own on this machine."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ...base.errors import BadData, WorkersFailed
from ...base.memory import available_memory
from ...base.threads import single_threaded_children, use_one_thread
from ..quarantine import Quarantine
from ..task import Batch, Result, peak_bytes, split_name
from ._compute import compute_batch

if TYPE_CHECKING:
    from distributed import Client, Future

_IN_FLIGHT = 2  # batches per worker
_RETRIES = 2  # of a batch that could not even be started
_PATIENCE = 30  # seconds for a scheduler to answer
LOOK_AFTER_SECONDS = 30.0
_COUNT_SECONDS = 1.0
_GONE = (
    "the Dask scheduler is gone. All results that came before are stored; start the cluster and "
    "run the same command again: it computes what is missing."
)


class Dask:
    """A Dask cluster; its workers must have the same version of gradone.

    Parameters
    ----------
    cluster : distributed.Client, str, cluster or None
        A client, the address of a scheduler, a cluster object, or None for a cluster of our own on
        this machine. What we did not start we do not stop.
    workers : int, optional
        Number of workers of our own cluster; default: one for each core.

    Notes
    -----
    A cluster of others gives the batch of a worker that died to another one, and only a batch that
    killed several workers comes back; then, and always on a cluster of our own, the rule of
    :mod:`gradone.experiments.quarantine` applies.
    """

    def __init__(self, cluster: Client | str | Any | None = None, *, workers: int | None = None):
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            raise BadData("Dask is not installed; run: pip install 'gradone[cluster]'") from error
        self._cluster, self._wanted = cluster, workers
        # Cells on this machine share its memory; of other machines we do not know it.
        self._memory = 0.9 * available_memory() if cluster is None else math.inf
        self._run: _Run | None = None

    @property
    def workers(self) -> int:
        """Threads of all workers of the cluster, as many as were there when last counted."""
        return self._run.threads if self._run else self._wanted or 1

    def run(self, function: str, batches: Iterator[Batch]) -> Generator[list[Result]]:
        """Results as they come; at most two batches per worker are under way."""
        split_name(function)  # a mistyped name must not wait for a cluster
        with contextlib.ExitStack() as stack:
            client = self._connect(stack)
            self._run = _Run(client, function, self._look_after, self._memory)
            yield from self._run.compute(batches)

    def _look_after(self, client: Client, answered: int) -> None:
        """Whatever a kind of cluster needs now and then, told how many batches were answered."""

    def _connect(self, stack: contextlib.ExitStack) -> Client:
        """A client that is connected; what is started here ends with the stack."""
        import dask
        from distributed import Client, LocalCluster

        if isinstance(self._cluster, Client):
            return self._cluster
        if self._cluster is not None:
            return connected(self._cluster, stack)
        # A batch whose worker died comes back at once: the quarantine knows what to do with it.
        patience = dask.config.set({"distributed.scheduler.allowed-failures": 0})
        with single_threaded_children(), patience:
            cluster = LocalCluster(
                n_workers=self._wanted,
                threads_per_worker=1,
                memory_limit=0,  # a share for each worker would kill cells that fit alone
                dashboard_address="localhost:0",  # a fixed port may be taken
                silence_logs=logging.ERROR,
            )
        return connected(stack.enter_context(cluster), stack)


def connected(cluster: Any, stack: contextlib.ExitStack) -> Client:
    """A client of a cluster, or of the scheduler at an address, for the time of the stack."""
    from distributed import Client

    try:
        client = Client(cluster, timeout=_PATIENCE, set_as_default=False)
    except OSError as error:
        raise WorkersFailed(
            f"no Dask scheduler answers at {cluster}. Start one with 'dask scheduler', and "
            f"workers with 'dask worker {cluster}'."
        ) from error
    return stack.enter_context(client)


class _Run:
    """The batches that are under way on a cluster."""

    def __init__(
        self,
        client: Client,
        function: str,
        look_after: Callable[[Client, int], None],
        memory: float,
    ) -> None:
        self._client, self._function, self._look_after = client, function, look_after
        self._memory = memory
        self._returned: Batch | None = None  # had no room yet
        self._flying: dict[Future[Any], Batch] = {}
        self._quarantine = Quarantine()
        self._answered = 0
        self.threads, self._counted = 1, -math.inf

    def compute(self, batches: Iterator[Batch]) -> Generator[list[Result]]:
        alone, looked = False, time.monotonic()
        try:
            while True:
                if not alone:
                    self._hand_out(batches)
                if not self._flying and not self._quarantine:
                    return
                if not self._flying:
                    alone = True
                    self._submit(self._quarantine.take())
                for future in self._landed():
                    yield from self._take(future, alone=alone)
                alone = alone and bool(self._flying)
                if time.monotonic() - looked > LOOK_AFTER_SECONDS:
                    self._look_after(self._client, self._answered)
                    looked = time.monotonic()
        finally:
            with contextlib.suppress(CancelledError, OSError):  # the scheduler may be gone
                self._client.cancel(list(self._flying))
            self._flying.clear()

    def _landed(self) -> list[Future[Any]]:
        """Batches that are over; none if that takes too long."""
        from distributed import wait

        try:
            with self._client.as_current():
                return list(wait(list(self._flying), LOOK_AFTER_SECONDS, "FIRST_COMPLETED").done)
        except TimeoutError:
            return []
        except CancelledError as error:
            raise WorkersFailed(_GONE) from error

    def _hand_out(self, batches: Iterator[Batch]) -> None:
        if time.monotonic() - self._counted > _COUNT_SECONDS:
            self._count_threads()
        while len(self._flying) < _IN_FLIGHT * self.threads:
            batch = self._returned or next(batches, None)
            if batch is None:
                return
            needed = peak_bytes(batch) + sum(map(peak_bytes, self._flying.values()))
            if needed > self._memory and self._flying:
                self._returned = batch
                return
            self._returned = None
            self._submit(batch)

    def _count_threads(self) -> None:
        """Workers come and go; where none is there yet, the first batches wait for one."""
        try:
            self.threads = max(sum(self._client.nthreads().values()), 1)
        except (OSError, CancelledError) as error:
            raise WorkersFailed(_GONE) from error
        self._counted = time.monotonic()

    def _submit(self, batch: Batch) -> None:
        arguments = (self._function, batch, version("gradone"))
        future = self._client.submit(compute_here, *arguments, pure=False, retries=_RETRIES)
        self._flying[future] = batch

    def _take(self, future: Future[Any], *, alone: bool) -> Iterator[list[Result]]:
        """Answer to a batch, or what follows from the death of its workers."""
        from distributed import KilledWorker

        batch = self._flying.pop(future)
        try:
            results = future.result()
        except KilledWorker:
            if not alone:
                self._quarantine.add(batch)
            elif verdict := self._quarantine.died(batch, "Dask: KilledWorker"):
                yield [verdict]
        except (CancelledError, OSError) as error:
            raise WorkersFailed(_GONE) from error
        except Exception as error:
            raise WorkersFailed(f"Dask cannot compute a batch: {error!r}") from error
        else:
            self._answered += 1
            yield results  # stored when we go on
            future.release()


def compute_here(function: str, batch: Batch, expected: str) -> list[Result]:
    """Batch on a worker that others have started."""
    found = version("gradone")
    if found != expected:
        raise WorkersFailed(
            f"a worker has gradone {found}, the coordinator {expected}. Install the same version "
            "everywhere: their numbers could differ."
        )
    _prepare()
    return list(compute_batch(function, batch))


@functools.cache
def _prepare() -> None:
    use_one_thread()
