"""Makes inputs on which two models that compute something else also give something else."""
