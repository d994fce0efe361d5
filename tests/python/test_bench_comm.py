"""``sordino bench comm``: tables, JSON and records of all-reduces; the compiled module times them."""

from __future__ import annotations

import json

import pytest

from sordino import machines


@pytest.fixture
def timed_core(fake_core):
    """A core whose messages take a microsecond for each doubling of ranks, and remembers what it was asked."""
    fake_core.asked = []

    def time_all_reduce(
        algorithm, values, repeats, options, machine, reduce_degree, broadcast_degree, by_adapter, product
    ):
        fake_core.asked.append((algorithm, values, repeats, options, machine, product))
        wait = 1e-6 * options["ranks"].bit_length()
        return {
            "algorithm": algorithm, "reproducible": algorithm != "two_level", "ranks": options["ranks"],
            "engine": options["engine"], "transport": "threads", "post_s": 1e-7, "wait_s": wait, "total_s": wait,
            **({"product_s": 1e-3, "alone_s": 2 * wait, "overlap": 0.75} if product else {}),
        }  # fmt: skip

    def time_traffic(traffic, size, repeats, options, machine):
        fake_core.asked.append((traffic, size, repeats, options, machine))
        return {
            "traffic": traffic, "ranks": options["ranks"], "engine": options["engine"], "transport": "threads",
            "seconds": 2e-6,
        }  # fmt: skip

    fake_core.time_traffic = time_traffic

    def measure_comm(name, devices, ranks, epochs, nccl, transport):
        fake_core.asked.append((name, devices, ranks, epochs, transport))
        if name == "litmus":
            raise fake_core.Error("peer_failed", "rank 1: a kernel waited 10 s for rank 0's part of 'x'")
        return [
            {
                "what": name, "way": "in a kernel", "ranks": rank, "bytes": 8, "samples": 1000, "median_s": 2.5e-6,
                "p99_s": 3e-6, "bytes_per_s": 0.0, "violations": -1, "remark": "",
            }
            for rank in ranks
        ]  # fmt: skip

    fake_core.time_all_reduce = time_all_reduce

    def comm_measurements(by_any_way):
        if by_any_way:
            return ["broadcast", "messages"]
        if fake_core.mpi_size > 1:
            return ["broadcast", "exchange-paths", "litmus", "messages"]
        return ["all-reduce", "broadcast", "litmus", "loops", "messages", "ping-pong"]

    fake_core.comm_measurements = comm_measurements
    fake_core.measure_comm = measure_comm
    return fake_core


def test_tables_and_records(cli, timed_core, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "comm", "--ranks", "1,2", "--bytes", "8,800", "--record", record, "--commit", "abc"
    )
    assert code == 0, err
    for part in ("8 bytes a rank, host engine, threads", "800 bytes", "tree (2, 4)", "start us", "wait us"):
        assert part in out
    assert "mpi" not in out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert len(lines) == 2 * 4 * 2
    assert lines[0]["commit"] == "abc" and lines[0]["command"].startswith("sordino bench comm --ranks")
    assert {(line["bytes"], line["algorithm"], line["ranks"]) for line in lines} >= {(800, "tree", 2)}
    assert timed_core.asked[0][:4] == (
        "ordered",
        1,
        50,
        {"engine": "host", "ranks": 1, "progress": "commands"},
    )
    assert timed_core.asked[0][4] is None


def test_json_of_a_described_machine(cli, timed_core):
    code, out, err = cli(
        "bench", "comm", "--engine", "model", "--machine", "summit", "--algorithms", "tree", "--json"
    )
    assert code == 0, err
    measured = json.loads(out)["measured"]
    assert [row["ranks"] for row in measured] == [1, 4, 16, 64, 256, 1024] * 2
    assert all(row["described_machine"] == "summit" and row["degrees"] == [2, 4] for row in measured)
    assert timed_core.asked[0][4] == machines.numbers(machines.load("summit"))


def test_what_a_product_hides_by_both_ways_of_progress(cli, timed_core):
    argv = ["bench", "comm", "--ranks", "2", "--bytes", "8", "--algorithms", "tree", "--product", "64,128"]
    argv += ["--commands", "4", "--progress", "commands,thread"]
    code, out, err = cli(*argv)
    assert code == 0, err
    for part in ("64 in 4", "128 in 4", "thread", "75%"):
        assert part in out
    asked = [(options["progress"], product["n"]) for _, _, _, options, _, product in timed_core.asked]
    assert asked == [("commands", 64), ("commands", 128), ("thread", 64), ("thread", 128)]
    code, out, err = cli(*argv, "--engine", "model", "--machine", "summit", "--spread", "0.1", "--json")
    assert code == 0, err
    product = json.loads(out)["measured"][0]["product"]
    assert product == {
        "n": 64, "commands": 4, "flops": machines.load("summit")["flops"], "spread": 0.1
    }  # fmt: skip


def test_messages_and_broadcasts(cli, timed_core):
    code, out, err = cli("bench", "comm", "--what", "both_ways", "--bytes", "7,1000", "--repeats", "3")
    assert code == 0, err
    assert "1,000.0" in out  # MB/s: two directions of 1,000 bytes in 2 us
    assert [asked[:4] for asked in timed_core.asked[:2]] == [
        ("both_ways", 7, 3, {"engine": "host", "ranks": ranks}) for ranks in (2, 4)
    ]
    code, out, err = cli("bench", "comm", "--what", "broadcast", "--engine", "model", "--json")
    assert code == 0, err
    measured = json.loads(out)["measured"]
    assert [row["ranks"] for row in measured] == [4, 16, 64, 256, 1024] * 2
    assert measured[0]["bytes_per_s"] is None


def test_mpi_is_measured_under_a_launcher(cli, timed_core):
    timed_core.mpi_size = 2
    code, out, err = cli("bench", "comm", "--ranks", "1", "--bytes", "8")
    assert code == 0, err
    assert "mpi" in out


def test_gpus_are_measured_and_a_failure_keeps_what_went_well(cli, timed_core, tmp_path):
    record = tmp_path / "r.jsonl"
    code, out, err = cli(
        "bench", "comm", "--engine", "cuda", "--ranks", "1,4", "--devices", "0-3", "--record", record
    )
    assert code == 4 and "rank 1: a kernel waited 10 s" in err
    assert "failed" in out
    assert "all-reduce inside one kernel" in out and "2.50" in out and "a value from kernel to kernel" in out
    kinds = ["all-reduce", "broadcast", "litmus", "loops", "messages", "ping-pong"]
    assert [asked[0] for asked in timed_core.asked] == kinds
    assert timed_core.asked[0] == ("all-reduce", "0-3", [1, 4], 0, "auto")
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["ranks"] for line in lines] == [1, 4] * 5
    assert all(line["engine"] == "cuda" and line["median_s"] == 2.5e-6 for line in lines)


def test_ways_to_run_a_loop_are_one_measurement_of_gpus(cli, timed_core):
    code, out, err = cli(
        "bench", "comm", "--engine", "cuda", "--what", "loops", "--ranks", "1,2", "--epochs", "20"
    )
    assert code == 0, err
    assert "ways to run a loop" in out
    assert timed_core.asked == [("loops", "", [1, 2], 20, "auto")]
    code, _, err = cli("bench", "comm", "--engine", "cuda", "--what", "loop")
    assert code == 2 and "unknown measurement 'loop', did you mean 'loops'?" in err


def test_processes_with_gpus_measure_together(cli, timed_core, monkeypatch, tmp_path):
    timed_core.mpi_size = 2
    argv = ["bench", "comm", "--engine", "cuda", "--what", "exchange-paths", "--record", tmp_path / "r.jsonl"]
    code, out, err = cli(*argv, "--ranks", "2,4")
    assert code == 0, err
    assert "exchange paths of the paper on HACApK" in out
    assert timed_core.asked[-1] == ("exchange-paths", "", [2, 4], 0, "auto")
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(line["processes"], line["ranks"]) for line in lines] == [(2, 2), (2, 4)]
    timed_core.mpi_size = 4
    assert cli(*argv)[0] == 0
    assert timed_core.asked[-1][2] == [4]  # of 1, 2 and 4 what four processes can share
    monkeypatch.setenv("PMIX_RANK", "1")
    timed_core.mpi_rank = 1
    assert cli(*argv)[1] == ""
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 3


def test_messages_take_the_transport_that_is_asked_for(cli, timed_core):
    code, out, err = cli("bench", "comm", "--engine", "cuda", "--transport", "auto,nccl", "--ranks", "2")
    assert code == 0, err
    assert "messages of the engine's programs" in out and "one rank's rows to all" in out
    wanted = ("broadcast", "messages")  # what takes a transport, of all that there is
    assert timed_core.asked == [(name, "", [2], 0, by) for by in ("auto", "nccl") for name in wanted]
    timed_core.mpi_size = 2
    code, out, err = cli("bench", "comm", "--engine", "cuda", "--transport", "mpi", "--what", "messages")
    assert code == 0, err
    assert timed_core.asked[-1] == ("messages", "", [2, 4], 0, "mpi")


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--transport", "host,ncll"], "unknown transport 'ncll', did you mean 'nccl'?"),
        (["--transport", "mpi"], "--transport mpi is between processes: start several"),
        (
            ["--transport", "host", "--what", "messages,loops"],
            "'loops' has its own ways between GPUs; --transport is for broadcast and messages",
        ),
    ],
)
def test_transports_that_cannot_be(cli, timed_core, argv, sentence):
    code, _, err = cli("bench", "comm", "--engine", "cuda", *argv)
    assert code == 2 and sentence in err
    assert timed_core.asked == []


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--ranks", "3"], "--ranks 3: on engine cuda these are the GPUs of all processes"),
        (["--what", "loops"], "unknown measurement 'loops' between processes; known: broadcast"),
    ],
)
def test_bad_usage_between_processes(cli, timed_core, argv, sentence):
    timed_core.mpi_size = 2
    code, _, err = cli("bench", "comm", "--engine", "cuda", *argv)
    assert code == 2 and sentence in err
    assert timed_core.asked == []


def test_a_failure_between_processes_ends_the_measurements(cli, timed_core):
    timed_core.mpi_size = 2
    code, _, err = cli("bench", "comm", "--engine", "cuda", "--what", "litmus,exchange-paths")
    assert code == 4 and "rank 1: a kernel waited 10 s" in err
    assert [asked[0] for asked in timed_core.asked] == ["litmus"]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--engine", "abacus"], "--engine is host, model or cuda"),
        (
            ["--engine", "cuda", "--what", "pingpong"],
            "unknown measurement 'pingpong', did you mean 'ping-pong'?",
        ),
        (["--engine", "cuda", "--ranks", "0"], "ranks must be at least 1"),
        (["--algorithms", "tre"], "unknown all-reduce 'tre', did you mean 'tree'?"),
        (["--ranks", "0"], "must be at least 1"),
        (["--what", "gossip"], "unknown traffic 'gossip'; known: all_reduce, ping_pong"),
        (["--progress", "threads"], "unknown way of progress 'threads', did you mean 'thread'?"),
        (["--spread", "few"], "--spread must be a number, not 'few'"),
        (["--bytes", "12"], "multiples of 8"),
        (["--degrees", "2"], "--degrees are two numbers"),
        (["--engine", "model", "--machine", "zuse"], "unknown machine 'zuse'"),
        (["--record", "/nowhere/r.jsonl"], "cannot be written"),
    ],
)
def test_bad_usage(cli, timed_core, argv, sentence):
    code, _, err = cli("bench", "comm", *argv)
    assert code == 2 and sentence in err


def _core_is_there() -> bool:
    try:
        from sordino import _core
    except ImportError:
        return False
    return hasattr(_core, "time_all_reduce")


needs_core = pytest.mark.skipif(not _core_is_there(), reason="sordino._core is not built")


@needs_core
def test_the_core_times_host_and_model(cli):
    code, out, err = cli("bench", "comm", "--ranks", "2", "--bytes", "8", "--repeats", "3", "--json")
    assert code == 0, err
    assert all(row["total_s"] > 0 and row["ranks"] == 2 for row in json.loads(out)["measured"])
    code, out, err = cli("bench", "comm", "--engine", "model", "--algorithms", "tree,two_level", "--json")
    assert code == 0, err
    rows = json.loads(out)["measured"]
    of = {(row["algorithm"], row["ranks"], row["bytes"]): row["total_s"] for row in rows}
    assert of["tree", 1, 8] == 0 < of["tree", 16, 8] < of["tree", 1024, 8] < of["tree", 1024, 1024]
    steps = {ranks: of["tree", ranks, 8] for ranks in (64, 256, 1024)}
    assert steps[1024] - steps[256] == pytest.approx(steps[256] - steps[64], rel=1e-6)  # as the logarithm


@needs_core
def test_the_core_times_products_and_messages(cli):
    argv = ["--ranks", "2", "--bytes", "64", "--repeats", "2", "--json"]
    code, out, err = cli("bench", "comm", *argv, "--product", "16", "--progress", "commands,thread")
    assert code == 0, err
    assert all(row["product_s"] > 0 and row["alone_s"] > 0 for row in json.loads(out)["measured"])
    for kind in ("ping_pong", "broadcast"):
        code, out, err = cli("bench", "comm", *argv, "--what", kind)
        assert code == 0, err
        assert json.loads(out)["measured"][0]["seconds"] > 0
    code, _, err = cli("bench", "comm", "--what", "one_way", "--ranks", "1")
    assert code == 2 and "between 2 or more ranks" in err


@needs_core
def test_the_core_says_what_it_cannot_do(cli):
    code, _, err = cli("bench", "comm", "--algorithms", "mpi", "--ranks", "2")
    assert code == 4 or code == 2
    assert "needs several MPI processes" in err
    code, _, err = cli("bench", "comm", "--degrees", "2,9", "--ranks", "2")
    assert code == 2 and "the tree that broadcasts has degree 2, 3 or 4, not 9" in err
