"""``python -m solvers.sampling.study_worker NUMBER``: try designs of the study that standard input tells of."""

from __future__ import annotations

import pickle
import sys

from dse.system.processes import end_with_parent
from solvers.sampling import sampler, studies
from solvers.sampling.trials import Designs


def main() -> None:
    """Work on a study until it is finished; ends with the process that started this one."""
    end_with_parent()
    number = int(sys.argv[1])
    # written by the process that started this one, to nobody else's pipe
    question, asked, pace = pickle.loads(sys.stdin.buffer.read())
    with sampler.quiet():
        study = studies.loaded(asked, pace)
        study.sampler = sampler.made(asked, number, len(study.get_trials(deepcopy=False)))
        studies.work(
            study,
            sampler.objective(Designs(question), asked),
            asked.trials,
            patience=2.0 * pace.grace,
        )


if __name__ == "__main__":
    main()
