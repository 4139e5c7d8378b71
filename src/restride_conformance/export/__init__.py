"""Cases that leave the house: what a driver was given for one, and folders with programs that give it again."""
