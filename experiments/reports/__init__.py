"""Reports of runs: what is in the folders as sections of text, tables and drawings, written as Markdown and as HTML.

`single` makes the report of one run, `comparison` that of several; import the modules by their names.
"""
