"""What commands share: the process, the command line, files, drivers, the machine and the stopwatch."""
