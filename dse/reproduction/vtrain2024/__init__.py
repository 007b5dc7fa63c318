"""vTrain, reproduced."""
