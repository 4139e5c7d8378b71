"""What commands share: the process, the command line, files, drivers and the machine."""
