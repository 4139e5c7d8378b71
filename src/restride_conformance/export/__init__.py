"""Exports of cases: what a driver is given for a case, and folders with programs that give it to a driver again."""
