"""Studies that samplers keep: a question, and the states of its trials."""

import optuna

from solvers.sampling import databases

NBODY = {
    "title": "n-body in 50 ms",
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096, "integer": True}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 0.05}},
}
State = optuna.trial.TrialState


def kept(storage: str, study: str = "dse") -> optuna.Study:
    return optuna.load_study(study_name=study, storage=databases.url(storage))


def states(study: optuna.Study) -> dict[str, int]:
    found = [t.state.name for t in study.get_trials(deepcopy=False)]
    return {name: found.count(name) for name in sorted(set(found))}
