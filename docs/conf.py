"""How the site is built: ``make docs`` writes it to ``site/``."""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_ext")]

import reference  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from symsets import __version__  # noqa: E402

logging.getLogger("traitlets").setLevel(logging.ERROR)  # a line for each notebook
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the notebooks: there is one for each core

project, author, release = "symsets", "The symsets developers", __version__
copyright = author
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "mathml",
    "names",
]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"  # every cell runs in every build
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autosummary_generate = True
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Shape", "Symmetry", "Reference"]
python_maximum_signature_line_length = 80
add_module_names = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "symsets"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f6690", "color-brand-content": "#1f6690"},
    "dark_css_variables": {"color-brand-primary": "#6db6e0", "color-brand-content": "#6db6e0"},
}

reference.write(HERE / "generated" / "reference")


def setup(app: Sphinx) -> None:
    """Read pages that are written to be read without this site, too."""

    def read(app: Sphinx, name: str, source: list[str]) -> None:
        # What is for the site alone stands in comments, and doctests end with an empty line.
        text = re.sub(
            r"^<!-- ({(?:index|toctree)}.*?)\n? ?-->$", r"```\1\n```", source[0], flags=re.M | re.S
        )
        source[0] = text.replace("\n\n```\n", "\n```\n")

    app.connect("source-read", read)
