"""What pages show, as typed rows: pure functions from a World (and what was read with it) to frozen structs."""
