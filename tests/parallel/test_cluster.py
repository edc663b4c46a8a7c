"""What can go wrong on a Dask cluster, with real clusters of separate processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest

from relprev import PURPLE, as_cohort
from relprev.cohort import Cohort, write_parts
from relprev.errors import ClusterError, InvalidInputError
from relprev.parallel import cluster
from relprev.simulate import ed_visits
from tests.parts import cut

pytest.importorskip("distributed")
NOBODY = "tcp://127.0.0.1:1"


@contextmanager
def process(*arguments, **environment):
    """A Python process that runs a module, ended with the block."""
    running = subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)], env=os.environ | environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield running
    finally:
        running.kill()
        running.wait()


@contextmanager
def scheduler(folder):
    """A scheduler in a process of its own, and its address."""
    file = folder / "scheduler.json"
    options = ("--scheduler-file", file, "--host", "127.0.0.1", "--port", 0, "--no-dashboard")
    with process("distributed.cli.dask_scheduler", *options) as running:
        while not file.is_file():
            assert running.poll() is None
            time.sleep(0.05)
        yield running, json.loads(file.read_text())["address"]


def worker(address, **environment):
    options = ("--nthreads", 1, "--no-dashboard", "--no-nanny")
    return process("distributed.cli.dask_worker", address, *options, **environment)


@pytest.fixture(scope="module")
def cohort():
    return ed_visits(20_000, n_codes=100, prevalence=0.15, seed=5).cohort


@pytest.fixture(scope="module")
def folder(cohort, tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "visits"
    write_parts(cut(cohort, 5_000), path)
    return path


def test_no_scheduler_at_the_address():
    with (
        pytest.raises(ClusterError, match=f"no scheduler answers at {NOBODY}; check the address"),
        cluster.connect(NOBODY, timeout=0.5),
    ):
        pass


def test_distributed_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for context in (cluster.connect(NOBODY), cluster.local_cluster(2)):
        with pytest.raises(ClusterError, match=r"pip install 'relprev\[cluster\]'"), context:
            pass


def test_a_number_of_workers_is_needed():
    with pytest.raises(InvalidInputError, match="got 0"), cluster.local_cluster(0):
        pass


def test_a_cluster_without_workers(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(cluster, "WORKER_SECONDS", 1.0)
    with (
        scheduler(tmp_path) as (_, address),
        cluster.connect(address, timeout=10) as client,
        pytest.raises(ClusterError, match=f"the cluster at {address} has no workers"),
    ):
        Cohort.open(folder, client)


def test_workers_with_another_version(tmp_path, folder):
    about = tmp_path / "relprev-99.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: relprev\nVersion: 99.0\n")
    ours = cluster.versions()["relprev"]
    with (
        scheduler(tmp_path) as (_, address),
        worker(address, PYTHONPATH=str(tmp_path)),
        cluster.connect(address) as client,
        pytest.raises(
            ClusterError, match=rf"other versions \(relprev 99\.0 there, {ours} here[;)]"
        ),
    ):
        Cohort.open(folder, client)


def test_a_worker_without_relprev(tmp_path, folder):
    (tmp_path / "relprev").mkdir()
    (tmp_path / "relprev" / "__init__.py").write_text("raise ImportError")
    with (
        scheduler(tmp_path) as (_, address),
        worker(address, PYTHONPATH=str(tmp_path)),
        cluster.connect(address) as client,
        pytest.raises(ClusterError, match=r"cannot load relprev \(\w+\); install relprev"),
    ):
        Cohort.open(folder, client)


def test_workers_that_lack_memory(tmp_path):
    """Dask ends a worker that needs more than it may have; after a few times it gives up."""
    import dask
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    rows = 20_000
    one = as_cohort(
        np.tile(rng.normal(size=(rows, 12)), 10), rng.random(rows) < 0.1,
        groups=rng.choice(["a", "b"], rows),
    )  # fmt: skip
    write_parts([one] * 20, tmp_path / "visits")  # about 400 MB
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="600MB", dashboard_address=None,
            silence_logs=50,
        ) as machine,
        Client(machine) as client,
        pytest.raises(ClusterError, match="most likely for lack of memory: together they"),
    ):  # fmt: skip
        PURPLE(1e-3).fit(Cohort.open(tmp_path / "visits", client))


def test_a_worker_that_runs_out_of_memory_by_itself():
    with pytest.raises(ClusterError, match="a worker ran out of memory"), cluster.plain_errors():
        raise MemoryError


def test_a_folder_that_workers_cannot_read(folder, tmp_path):
    """The folder is gone before the workers read it, as if it were on this machine only."""
    here = tmp_path / "visits"
    write_parts(cut(ed_visits(2_000, n_codes=50, seed=1).cohort, 500), here)
    with (
        scheduler(tmp_path) as (_, address),
        worker(address),
        cluster.connect(address) as client,
    ):
        client.wait_for_workers(1, timeout=30)
        client.run(_forget, str(here))
        with pytest.raises(
            ClusterError, match=r"part-00000.arrow cannot be read on .*every worker"
        ):
            Cohort.open(here, client)


def _forget(folder):
    """Make a worker process blind for a folder."""
    from relprev.cohort import part_files

    found = part_files.file_fingerprint

    def blind(path):
        if str(path).startswith(folder):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return found(path)

    part_files.file_fingerprint = blind


def test_the_scheduler_is_lost(tmp_path, folder):
    import dask

    def work():
        for _ in range(10_000):
            assert len(parts.groups)

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        scheduler(tmp_path) as (running, address),
        worker(address),
        cluster.connect(address) as client,
    ):
        parts = Cohort.open(folder, client)
        assert parts.groups is not None
        threading.Timer(0.5, running.kill).start()
        with pytest.raises(ClusterError, match="connection to the cluster's scheduler was lost"):
            work()


def test_a_worker_killed_in_the_middle_of_a_fit_does_not_change_the_answer(cohort, folder):
    """SIGKILL; Dask's nanny starts another, and its parts are read again."""
    expected = PURPLE(1e-4).fit(cohort).relative_prevalence().to_frame()["estimate"]
    with cluster.local_cluster(2) as client:
        parts = Cohort.open(folder, client)
        pids = client.run(os.getpid)
        victim = next(iter(pids.values()))
        sent = _Sent(client, 20, lambda: os.kill(victim, signal.SIGKILL))
        found = PURPLE(1e-4).fit(parts).relative_prevalence().to_frame()["estimate"]
        assert sent.left < 0
        assert victim not in client.run(os.getpid).values()
    np.testing.assert_allclose(found, expected, rtol=1e-8)


class _Sent:
    """Calls a function when a client has sent that many tasks; ``left`` are those to come."""

    def __init__(self, client, count, function):
        self.left, self.function, self.submit = count, function, client.submit
        client.submit = self

    def __call__(self, *arguments, **options):
        future = self.submit(*arguments, **options)
        self.left -= 1
        if self.left == 0:
            self.function()
        return future


@pytest.fixture
def impatient(monkeypatch):
    """Give up after seconds instead of a minute or two."""
    for name, seconds in (("POLL", 0.2), ("STEADY", 2.0), ("LOST", 6.0)):
        monkeypatch.setattr(cluster, f"{name}_SECONDS", seconds)


@pytest.mark.usefixtures("impatient")
def test_all_workers_are_lost(tmp_path, folder):
    with (
        scheduler(tmp_path) as (_, address),
        worker(address) as only,
        cluster.connect(address) as client,
    ):
        client.wait_for_workers(1, timeout=30)
        parts = Cohort.open(folder, client)
        _Sent(client, 20, only.kill)
        with pytest.raises(ClusterError, match=f"the cluster at {address} has no workers; .*again"):
            PURPLE(1e-4).fit(parts)


def _kill_all(client):
    for nanny in client.cluster.workers.values():
        if nanny.process and nanny.process.pid:
            os.kill(nanny.process.pid, signal.SIGKILL)


def test_all_workers_killed_once_are_started_again_and_the_fit_goes_on(cohort, folder):
    """Parts were tied to workers that were gone, and waited for them for ever."""
    expected = PURPLE(1e-4).fit(cohort).relative_prevalence().to_frame()["estimate"]
    with cluster.local_cluster(2) as client:
        parts = Cohort.open(folder, client)
        _Sent(client, 20, lambda: _kill_all(client))
        found = PURPLE(1e-4).fit(parts).relative_prevalence().to_frame()["estimate"]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.usefixtures("impatient")
def test_workers_that_nannies_start_again_and_again_in_vain(folder):
    ended = threading.Event()

    def kill_again():
        while not ended.wait(0.3):
            _kill_all(client)

    with cluster.local_cluster(2) as client:
        parts = Cohort.open(folder, client)
        killer = threading.Thread(target=kill_again)
        killer.start()
        try:
            with pytest.raises(ClusterError, match=r"has no workers|keep dying"):
                PURPLE("log", selection="cv").fit(parts)
        finally:
            ended.set()
            killer.join()


def test_giving_up_takes_less_than_two_minutes():
    assert cluster.LOST_SECONDS + cluster.STEADY_SECONDS / 2 + cluster.POLL_SECONDS < 120


@pytest.mark.usefixtures("impatient")
def test_workers_without_anything_to_do_are_not_waited_for(folder):
    with cluster.local_cluster(1) as client:
        client.wait_for_workers(1, timeout=30)
        never = client.submit(len, "abc", workers=["tls://127.0.0.1:1"], pure=False)
        with pytest.raises(ClusterError, match="are idle although results are missing"):
            cluster.gathered(client, [never])


def test_a_local_cluster_admits_nobody_else():
    """Without its certificates no client gets in, and nothing else listens.

    Strangers are processes of their own: a client that could not connect and is collected later
    can stop the next one for ever.
    """
    with cluster.local_cluster(1) as client:
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        assert all(worker.startswith("tls://127.0.0.1:") for worker in client.nthreads())
        for stranger in (address, address.replace("tls://", "tcp://")):
            program = f"from distributed import Client; Client({stranger!r}, timeout=2)"
            found = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
            assert found.returncode == 1, found.stdout
            assert b"Error" in found.stderr
        with (
            pytest.raises(
                ClusterError,
                match=r"requires TLS, but .* no certificates; set distributed\.comm\.tls",
            ),
            cluster.connect(address),
        ):
            pass
        processes = [os.getpid(), *client.run(os.getpid).values()]
        served = [port for process in processes for port in _http_ports(process)]
        assert served == []


def _http_ports(process):
    """Ports of the process that answer a request for a page."""
    psutil = pytest.importorskip("psutil")
    found = []
    for one in psutil.Process(process).net_connections(kind="inet"):
        if one.status == "LISTEN":
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{one.laddr.port}", timeout=2):
                    found.append(one.laddr.port)
            except urllib.error.HTTPError:
                found.append(one.laddr.port)
            except OSError:
                pass
    return found


@pytest.mark.filterwarnings("error")
def test_dask_does_not_warn_of_large_tasks(folder):
    rows = np.arange(4_000_000, dtype=np.int32)  # 16 MB
    with cluster.local_cluster(1) as client:
        parts = Cohort.open(folder, client)
        sizes = parts.map(_counted, each=[rows] * len(parts.sizes))
    assert sizes == [rows.size] * len(sizes)


def _counted(part, rows):
    return rows.size


def test_without_a_dashboard_there_is_no_link():
    with cluster.local_cluster(1) as client:
        assert cluster.dashboard(client) == ""


def test_the_dashboard_answers():
    pytest.importorskip("bokeh")
    with cluster.local_cluster(1, with_dashboard=True) as client:
        link = cluster.dashboard(client)
        assert link.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(link, timeout=10) as page:
            assert page.status == 200
