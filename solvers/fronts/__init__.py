"""Points along a front of two objectives: of programs, of geometric programs, and limits swept along one."""
