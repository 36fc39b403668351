"""A SLURM job array: every job computes its share into a file of its own, no coordinator waits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TypeVar

from ...base.errors import BadData
from ...base.threads import VARIABLES

_Cell = TypeVar("_Cell")


def shard(cells: Sequence[_Cell], index: int, shards: int) -> list[_Cell]:
    """Share of the job `index` of `shards`: cells index, index + shards, ...

    Examples
    --------
    >>> shard("abcde", 1, 2)
    ['b', 'd']
    """
    if not 0 <= index < shards:
        raise BadData(f"a share must be one of 0 ... {shards - 1}, got {index}")
    return list(cells[index::shards])


def job_array_script(
    command: Sequence[str],
    *,
    shards: int,
    at_once: int | None = None,
    walltime: str = "01:00:00",
    memory: str = "4G",
    queue: str | None = None,
    folder: str = "shards",
    name: str = "gradone",
) -> str:
    """Text of a script for ``sbatch``, in which each job of an array computes one share.

    Parameters
    ----------
    command : sequence of str
        Words of the command that computes a share. ``{shard}`` becomes ``INDEX/SHARDS``, and
        ``{store}`` the file of the job's own: one writer for each file, whatever the filesystem.
    shards : int
        Number of jobs.
    at_once : int, optional
        How many of them may run at the same time.
    walltime, memory : str
        Limits of one job. A job that is sent again continues its file.
    queue : str, optional
        Partition; default: that of the cluster.
    folder : str
        Folder of the files.
    name : str
        Name of the jobs.

    Examples
    --------
    >>> words = "gradone sweep small.toml --shard {shard} --store {store}".split()
    >>> print(job_array_script(words, shards=100, at_once=20))
    #!/bin/sh
    #SBATCH --job-name=gradone
    #SBATCH --array=0-99%20
    ...
    exec gradone sweep small.toml --shard "$SLURM_ARRAY_TASK_ID/100" --store "$store"
    """
    if shards < 1 or (at_once is not None and at_once < 1):
        raise BadData(f"shards and at_once must be at least 1, got {shards} and {at_once}")
    places = {"{shard}": f'"$SLURM_ARRAY_TASK_ID/{shards}"', "{store}": '"$store"'}
    words = " ".join(places.get(word) or shlex.quote(word) for word in command)
    quoted = shlex.quote(folder)
    lines = [
        "#!/bin/sh",
        f"#SBATCH --job-name={name}",
        f"#SBATCH --array=0-{shards - 1}" + (f"%{at_once}" if at_once else ""),
        f"#SBATCH --output={name}-%A-%a.log",
        "#SBATCH --ntasks=1",
        "#SBATCH --cpus-per-task=1",
        f"#SBATCH --mem={memory}",
        f"#SBATCH --time={walltime}",
        *([f"#SBATCH --partition={queue}"] if queue else []),
        "export " + " ".join(f"{variable}=1" for variable in VARIABLES),
        f"mkdir -p {quoted}",
        f'store={quoted}/"$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID.db"',
        f"exec {words}",
    ]
    return "\n".join(lines) + "\n"
