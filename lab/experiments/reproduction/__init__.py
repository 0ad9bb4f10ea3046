"""Reproductions: a paper's figures and tables, published beside simulated (or measured live).

`cases` says what one simulation is, `metrics` what is kept of it, `store` keeps and makes them;
`exhibits` are the forms a figure or table can take, `lifo_pri` and `sbac` the papers' own, `report`
writes them all down.
"""
