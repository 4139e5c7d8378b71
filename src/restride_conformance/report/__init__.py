"""Reports of a run: the value, its JSON file, and what is made of it: text, JUnit, a page, a comparison."""
