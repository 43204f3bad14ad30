"""slurm: Slurm's daemons on loopback, of a configuration of their own, for bench/jobs.py. Debian: apt-get install slurm-wlm

One node, this machine, which says that it has 64 processors, so that as many jobs run at a time as the queue gives out. No
accounting, no prolog, processes tracked by /proc, no walls around jobs. Takes root (slurmd does).
"""
import os
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
SLOTS = 64

CONF = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
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
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,default_queue_depth=1000,max_rpc_cnt=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MaxJobCount=200000
MinJobAge=2
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={slots} State=UNKNOWN
PartitionName=bench Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """The first of its programs that is not here; None: all are."""
    return next((p for p in PROGRAMS if shutil.which(p) is None), None)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    def __init__(self, folder, meter):
        self.folder, self.daemons = folder, []
        self.env = dict(os.environ, SLURM_CONF=os.path.join(folder, "slurm.conf"))
        for name in ("state", "spool", "out"):
            os.mkdir(os.path.join(folder, name))
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "munge.key"), "wb", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(os.urandom(128))
        with open(self.env["SLURM_CONF"], "w", encoding="utf-8") as f:
            f.write(CONF.format(host=socket.gethostname().split(".")[0], folder=folder, slots=SLOTS,
                                ports=(free_port(), free_port())))
        at = lambda name: os.path.join(folder, name)
        self.start(["munged", "--foreground", "--force", "--key-file=" + at("munge.key"), "--socket=" + at("munge.socket"),
                    "--pid-file=" + at("munged.pid"), "--seed-file=" + at("munged.seed"),
                    "--log-file=" + at("munged.log")], meter)
        while not os.path.exists(at("munge.socket")):
            time.sleep(0.05)
        self.start(["slurmctld", "-D", "-c"], meter)
        self.start(["slurmd", "-D"], meter)
        until = time.monotonic() + 30
        while "idle" not in self.ask("sinfo", "-h", "-o", "%t"):
            if time.monotonic() > until:
                raise RuntimeError("Slurm's node does not come up: " + self.ask("sinfo", "-R"))
            time.sleep(0.1)

    def start(self, argv, meter):
        log = open(os.path.join(self.folder, argv[0] + ".out"), "wb")
        self.daemons.append(subprocess.Popen([shutil.which(argv[0])] + argv[1:], env=self.env, stdout=log, stderr=log,
                                             stdin=subprocess.DEVNULL, preexec_fn=meter.join, start_new_session=True))
        log.close()

    def ask(self, *argv):
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False).stdout

    def submit(self, number):
        """Says when it was sent. The job writes when it began, which is what its shell knows without another process."""
        sent = time.time()
        subprocess.run(["sbatch", "-Q", "-J", f"j{number}", "-o", os.path.join(self.folder, "out", str(number)), "-n1",
                        "--open-mode=truncate"], input="#!/bin/bash\necho $EPOCHREALTIME\n/bin/true\n", text=True, env=self.env,
                       check=True, capture_output=True, cwd="/")
        return sent

    def began(self, number):
        """None: not yet."""
        try:
            with open(os.path.join(self.folder, "out", str(number)), encoding="utf-8") as f:
                return float(f.read())
        except (OSError, ValueError):
            return None

    def wait_empty(self):
        while self.ask("squeue", "-h").strip():
            time.sleep(0.1)

    def close(self):
        for p in reversed(self.daemons):
            p.terminate()
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
