from dataclasses import replace
import os
import numpy as np
from solvers.geometric import branch
from solvers.geometric.branch import Searched
from solvers.geometric.kernel.gp_together import ITERATIONS
NODE_GAP = 1e-8
MOST_NODES_PER_POINT = 400
ANY, EASIER, TIGHT = 10.0, 1e-7, 1e-9
NODES=[0,0,0]
def minimise(c, solve, discrete, *, any_design=False, value_only=False, most=MOST_NODES_PER_POINT, gap=NODE_GAP, start=None):
    tol = ANY if any_design else EASIER if value_only and gap >= NODE_GAP else min(TIGHT, gap)
    def ask(asked):
        NODES[1]+=len(asked); NODES[2]+=sum(len(p.logc) for p in asked)
        return [solve(p.A, p.logc, p.ptr, p.low, p.high, hurried=True, max_iterations=ITERATIONS, tol=tol, content=np.ones(len(p.logc),bool)) for p in asked]
    allowed = {i: None if d.values is None else np.log(np.array(d.values,float)) for i,d in discrete.items()}
    c = replace(c, allowed=allowed)
    f = branch.search(c, ask, gap=gap, start=start, most=most, any_design=any_design, reach=not value_only and not any_design)
    NODES[0]+=int(f.nodes.sum())
    return f
