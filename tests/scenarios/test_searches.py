"""[search]: what a file may say of a sampler, and what is refused with which words."""

from typing import Any

import pytest

import scenarios
from scenarios.language.searches import searched
from scenarios.question import SAMPLERS, Search
from scenarios.questions import question

NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
}
SWEEP = {"sweep": {"deadline": {"path": "limits.time.max", "values": [0.1, 1]}}}


def test_every_key_reaches_the_question():
    asked = {"sampler": "TPE", "trials": 500, "seed": 1, "storage": "study.db", "study": "mine", "workers": 2}
    found = question(scenarios.load(NBODY | {"search": asked | {"compare": False}}))
    assert found.search == Search("TPE", 500, 1, "study.db", "mine", 2, compare=False)
    assert question(scenarios.load(NBODY | {"search": {}})).search == Search()
    assert question(scenarios.load(NBODY)).search is None


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_may_be_named(name: str):
    assert question(scenarios.load(NBODY | {"search": {"sampler": name}})).search == Search(sampler=name)


@pytest.mark.parametrize(
    ("search", "key", "words"),
    [
        ({"sampler": "tpe"}, "search.sampler", "did you mean 'TPE'"),
        ({"sampler": "NSGA2"}, "search.sampler", "did you mean 'NSGA-II'"),
        ({"sampler": 3}, "search.sampler", "there are: TPE"),
        ({"sampler": "GP"}, "search.sampler", "there are: TPE"),
        ({"trials": 0}, "search.trials", "0 is not possible"),
        ({"trials": 2.5}, "search.trials", "not a whole number"),
        ({"trials": 1e9}, "search.trials", "from 1 to 10000000"),
        ({"seed": -1}, "search.seed", "from 0 to 4294967295"),
        ({"workers": 0}, "search.workers", "0 is not possible"),
        ({"storage": "study"}, "search.storage", "study.db"),
        ({"storage": "mysql://host/db"}, "search.storage", "'mysql' database"),
        ({"storage": "postgresql://"}, "search.storage", "postgresql://user@host"),
        ({"storage": "postgresql://me:secret@host/db"}, "search.storage", "PGPASSWORD"),
        ({"compare": 1}, "search.compare", "neither true nor false"),
        ({"trial": 3}, "search.trial", "did you mean 'trials'"),
        (5, "search", "sampler = "),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(search: Any, key: str, words: str):
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.load(NBODY | {"search": search})
    assert [p.key for p in refused.value.problems] == [key]
    assert words in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"search": {"sampler": "CMA-ES"}, "objective": {"minimize": ["energy", "time"]}}, "search.sampler"),
        (SWEEP | {"search": {"storage": "study.db"}}, "search.storage"),
        (SWEEP | {"search": {"workers": 2}}, "search.workers"),
    ],
)
def test_what_does_not_fit_the_question_is_refused(more: dict[str, Any], key: str):
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.load(NBODY | more)
    assert [p.key for p in refused.value.problems] == [key]


def test_what_is_asked_in_a_call_stands_in_for_the_file():
    loaded = scenarios.load(NBODY | {"search": {"sampler": "TPE", "trials": 7, "seed": 3}})
    made = searched(loaded, {"trials": 9, "storage": None})
    assert question(made).search == Search("TPE", 9, 3)
    # made in Python, the text is what is asked now; a file's text stays what stands in the file
    assert "trials = 9" in made.text
    file = scenarios.from_text(loaded.text, "a.toml")
    again = searched(file, {"trials": 9})
    assert (again.text, again.file) == (file.text, "a.toml")
    assert searched(loaded, {}) is loaded
    with pytest.raises(scenarios.ScenarioError, match="did you mean 'seed'"):
        searched(loaded, {"sead": 1})
    with pytest.raises(scenarios.ScenarioError, match="one objective"):
        searched(
            scenarios.load(NBODY | {"objective": {"minimize": ["energy", "time"]}}), {"sampler": "CMA-ES"}
        )


def test_the_schema_offers_the_samplers():
    offered = scenarios.json_schema()["$defs"]["Searching"]["properties"]["sampler"]
    assert tuple(offered["enum"]) == SAMPLERS
    assert "NSGA-II" in offered["description"]
