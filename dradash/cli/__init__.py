"""The `dradash` command. It starts fast: Django is imported only by the commands that need it."""
