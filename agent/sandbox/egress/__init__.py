"""Let the commands of a run connect to a list of hosts and to no other part of the network."""
