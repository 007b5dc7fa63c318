"""Questions without structure that a method knows: interval branch and bound, SCIP, and which of them is offered."""
