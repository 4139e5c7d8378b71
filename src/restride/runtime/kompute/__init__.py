"""The runtime on the Kompute package ``kp``."""
