"""Options that several commands share: machines, solvers, searches, clusters, behaviours."""
