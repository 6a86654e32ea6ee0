"""What is wrong in the cluster, found by looking over all of it: findings with a remedy and a command that shows it."""
