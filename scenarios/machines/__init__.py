"""The machines of a question: files, tables, maps of several, clocks and prices."""
