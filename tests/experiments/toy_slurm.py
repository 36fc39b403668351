"""A SLURM of one node, in a folder of its own, for as long as a test takes."""

import os
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")

# Neither systemd nor control groups nor accounting: one machine, run by root.
CONFIGURATION = """
ClusterName=toy
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MpiDefault=none
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=toys Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def obstacle():
    """Why no SLURM can be started here, None if one can."""
    missing = [name for name in PROGRAMS if find(name) is None]
    if missing:
        return f"SLURM is not installed (no {missing[0]}); tools/install_slurm.sh"
    if os.geteuid() != 0:
        return "SLURM of one node is started by root"
    return None


def find(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")


class ToySlurm:
    """The daemons; ``SLURM_CONF`` must be set to `configuration` for the commands."""

    def __init__(self, folder):
        folder.mkdir()
        for name in ("state", "spool"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        self.configuration = folder / "slurm.conf"
        ports = {"controller": free_port(), "node": free_port()}
        text = CONFIGURATION.format(folder=folder, host=socket.gethostname(), **ports)
        self.configuration.write_text(text)
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        files = {"key": "key", "socket": "socket", "pid": "pid-file", "log": "log-file"}
        options = [f"--{option}={folder}/munge.{end}" for end, option in files.items()]
        options.append(f"--seed-file={folder}/munge.seed")
        options = [option.replace("--key=", "--key-file=") for option in options]
        self._processes = [self._start("munged", "--foreground", "--force", *options)]
        wait_until(lambda: (folder / "munge.socket").exists(), "munged")
        self._processes.append(self._start("slurmctld", "-D", "-c"))
        self._processes.append(self._start("slurmd", "-D", "-c"))
        wait_until(lambda: "idle" in self.call("sinfo", "--noheader", "--format=%t"), "slurmd")

    def _start(self, name, *options):
        return subprocess.Popen(
            [find(name), *options],
            env=os.environ | {"SLURM_CONF": str(self.configuration)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def call(self, name, *options, cwd=None):
        """What a command of SLURM says; nothing if it fails."""
        return subprocess.run(
            [find(name), *options],
            env=os.environ | {"SLURM_CONF": str(self.configuration)},
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        ).stdout

    def wait_for_jobs(self, patience=300):
        """Wait until the queue is empty."""
        wait_until(lambda: not self.call("squeue", "--noheader"), "the jobs", patience)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.call("scancel", "--user=root")
        wait_until(lambda: not self.call("squeue", "--noheader"), "the end of all jobs")
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what, patience=60):
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come within {patience} s")
        time.sleep(0.1)
