"""Training and serving decoders: shapes, operators, parallel plans, measured constants."""
