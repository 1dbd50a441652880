"""Notebooks as data: conversations out of files of Jupyter's, and into them."""
