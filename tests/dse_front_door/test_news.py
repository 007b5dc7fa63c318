"""What workers say while a sweep runs: that they cannot take part, and how far they are in their chunks."""

from typing import Any

import pytest
from distributed import Client, LocalCluster

import dse
from dse.sweeping.cluster import news


def test_a_worker_with_another_dse_is_turned_away_while_the_sweep_lasts(waiting: Any):
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with news.listening(client, "topic") as said, news.asking(client, "topic", "0.0.9"):
            cluster.scale(1)
            refused = waiting(said.refused)
            assert [why for _, why in refused] == [f"has dse {dse.__version__} (here 0.0.9)"]
            assert refused[0][0].startswith("inproc://")
            waiting(lambda: not client.scheduler_info()["workers"])
        # a sweep that was killed leaves its question behind, and nobody to hear the answer
        client.register_plugin(news._doorkeeper("dead", {"dse": "0.0.9"}), name="dead")
        cluster.scale(2)
        assert client.submit(abs, -1).result(timeout=60) == 1


def test_workers_tell_how_many_points_of_their_chunks_are_solved(
    monkeypatch: pytest.MonkeyPatch, waiting: Any
):
    monkeypatch.setattr(news, "EVERY", 0)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
        news.listening(client, "topic") as said,
    ):
        client.submit(lambda: news.teller("topic", (0, 2))(17)).result(timeout=60)
        waiting(lambda: not said.refused() and said.points(lambda index: index == (0, 2)) == 17)
        assert said.points(lambda index: False) == 0
    assert news.teller("topic", (0, 2)) is None, "outside a worker nobody hears it"
