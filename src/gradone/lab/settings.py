"""What a lab may use: processes, memory, time."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..base.threads import available_cores


@dataclass(frozen=True)
class Settings:
    """Limits of a lab.

    Parameters
    ----------
    hosts : tuple of str
        Names under which the page may be asked for; a request for another one is refused.
    token : str
        What a request must know, as a cookie, as ``?token=`` or as ``Authorization: Bearer``;
        nothing if it is empty.
    cores : int
        Runs at the same time, and processes for short questions of either kind.
    waiting_runs, waiting_questions : int
        How many may wait for their turn; what comes then is told that the lab is busy.
    runs_of_one : int
        Runs of one address, at work or waiting.
    patience : float
        Seconds in the queue of questions after which somebody is told that the lab is busy.
    question_seconds, run_seconds : float
        Time after which a question or a run is stopped.
    quick_processor_seconds, slow_processor_seconds : float
        Processor time of a question. One that turns out not to be quick is passed on to the
        processes for slow ones.
    run_bytes : int
        Memory of one process.
    lonely_seconds : float
        A run that nobody has watched for so long is stopped.
    kept_seconds, kept_runs : float, int
        A run that has ended is forgotten after this time, or when so many have ended after it.
    body_bytes : int
        Longest request that is read.
    connections : int
        Connections at the same time; when there are more, the one idle for longest is closed.
    request_seconds, reading_seconds : float
        Time for a client to send a request, and to take what it has asked for.
    """

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    token: str = ""
    cores: int = field(default_factory=available_cores)
    waiting_runs: int = 20
    waiting_questions: int = 60
    runs_of_one: int = 2
    patience: float = 4.0
    question_seconds: float = 30.0
    quick_processor_seconds: float = 2.0
    slow_processor_seconds: float = 20.0
    run_seconds: float = 300.0
    run_bytes: int = 2 * 2**30
    lonely_seconds: float = 60.0
    kept_seconds: float = 900.0
    kept_runs: int = 100
    body_bytes: int = 2**16
    connections: int = 400
    request_seconds: float = 10.0
    reading_seconds: float = 20.0
