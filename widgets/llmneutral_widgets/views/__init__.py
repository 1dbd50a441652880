"""Pure views: plain values in, HTML out.

What must live here: functions that know no IPython, no ipywidgets, no clock and no network. Everything they show was
made plain and free of secrets before (`llmneutral_widgets.scrub.plain`), and is escaped where it enters the page.
"""
