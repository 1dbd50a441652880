"""The notebook layer of llmneutral: magics, widgets and views."""
