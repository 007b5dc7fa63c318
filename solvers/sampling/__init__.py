"""Search without proof, by samplers of Optuna, kept in studies."""
