"""Files of the machine: regular ones are read within a bound, and all are written in one step."""
