"""Configuration of the documentation site. The built pages ask nothing of the network."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

import gradone

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "gradone"
author = "the gradone developers"
project_copyright = "2026, the gradone developers"
version = release = installed_version("gradone")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "gradone_pages",
    "page_notebooks",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
default_role = "code"  # in numpydoc, single backticks hold names of parameters
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

# Reference: docstrings are numpydoc and state their types, so signatures stay short.
napoleon_google_docstring = False
napoleon_use_param = False  # types are words such as "ndarray (n, r)", not names to look up
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes of a fitted learner may also be properties, described once
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Shapes such as "(n, d)" stand where Sphinx expects the names of types.
suppress_warnings = ["ref.python"]
# The top level documents the public names; pages of modules hold what is left.
autosummary_context = {
    "public_names": [name for name in gradone.__all__ if name[0] != "_"],
    "rooms": gradone._ROOMS,
}

# Formulas: `sphinx.ext.mathjax` marks them up, and the KaTeX kept in the package draws them. Where
# the extension would load MathJax it loads a few lines of ours.
mathjax_path = "draw_formulas.js"
html_js_files = [("katex.min.js", {"defer": "defer"}), ("auto-render.min.js", {"defer": "defer"})]
html_css_files = ["katex.min.css"]

html_theme = "furo"
html_title = "gradone"
html_static_path = ["_static", "../src/gradone/charts/assets/katex"]
html_copy_source = False

# The gallery runs its scripts, so an example that fails stops the build.
sphinx_gallery_conf = {
    # A folder of it with a README would become a section: that of the plugin is ABOUT.md.
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "image_scrapers": ("gallery_figures",),
    "download_all_examples": False,
    "min_reported_time": 10,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}
