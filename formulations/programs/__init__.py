"""Questions whose arithmetic is affine, as linear and mixed-integer programs."""
