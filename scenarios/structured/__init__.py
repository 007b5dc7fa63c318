"""Questions over lists: rows, maps of machines, kernels, and the labels that users give them."""
