"""The runtime that runs on the Kompute package ``kp``."""
