"""Other libraries' arrays and engines, each in a module that is imported on use."""
