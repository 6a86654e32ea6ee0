"""The pages, one module a section; base.py says what a page is."""
