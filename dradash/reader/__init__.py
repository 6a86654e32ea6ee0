"""What a process knows of the cluster: its replica, followed; its past; and what watching taught. For web and api."""
