"""What the fuzzer found once does not come back, and the fuzzer finds what is wrong."""

import json
import random
import shutil
from pathlib import Path

import cases
import pytest
import trials
from fuzz import FOUND, Child, fuzz, shrunk

CHILD = """
import json, signal, sys
signal.signal(signal.SIGPROF, signal.SIG_DFL)
for line in sys.stdin:
    steps = json.loads(line)["steps"]
    if any(s % 50 == 7 for s in steps):
        signal.setitimer(signal.ITIMER_PROF, 0.05)
        while True: pass
    odd = any(s % 5 == 3 for s in steps)
    print(json.dumps({"what": "odd one", "words": ["check"], "told": ""} if odd else None), flush=True)
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("folder", sorted(p.parent for p in FOUND.rglob("case.json")), ids=lambda p: p.name)
def test_what_was_found_comes_to_an_end_as_promised(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "case")
    monkeypatch.chdir(tmp_path / "case")
    told = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    assert told.keys() >= {"code", "says"}, f"write into {folder}/case.json what must come of it"
    done = trials.run(told["words"])
    verdict = trials.judged(told["kind"], told["words"], done)
    assert verdict == told["code"], (verdict, done.output)
    assert told["says"] in done.output.replace("\n", " ")


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        dice, found = random.Random(5), {}
        for i in range(40):
            case = cases.drawn(dice, (cases.SCENARIO, cases.MACHINE, cases.MEASURED, cases.COMMAND))
            place = folder / str(i)
            place.mkdir(parents=True)
            found[f"{i}"] = repr(cases.made(case, place)).encode()
            found |= {f"{i}/{p.name}": p.read_bytes() for p in place.iterdir()}
        return found

    one, other = files(tmp_path / "one"), files(tmp_path / "other")
    assert one == other
    spoilt = [n for n in one if n.endswith("question.toml") and one[n] not in cases.library().values()]
    assert len(spoilt) > 20


def test_a_fault_is_found_made_small_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "child.py").write_text(CHILD)
    child = Child(tmp_path / "child.py")
    found = fuzz(60, 1, (cases.SCENARIO,), tmp_path / "found", child, most=80)
    assert set(found) == {"odd one", "scenario took too long"}
    assert "80 cases, seed 1, 2 faults" in capsys.readouterr().out
    for folder in (tmp_path / "found").iterdir():
        assert (folder / "question.toml").exists()
        assert json.loads((folder / "case.json").read_text())["was"] in found
    case = cases.Case(cases.SCENARIO, 1, (10, 11, 13, 15, 20))
    less, _ = shrunk(Child(tmp_path / "child.py"), case, found["odd one"])
    assert less.steps == (13,)
