"""The site: Sphinx reads the Markdown pages where they lie in the repository, the gallery and the notebooks run."""

from __future__ import annotations

import os
import sys
from html import unescape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).resolve().parent.parent

sys.path.insert(0, str(ROOT / "docs" / "gallery"))
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"  # tqdm's, in the kernels of notebooks

project = "restride"
copyright = "the authors of restride, Apache-2.0"  # noqa: A001 - Sphinx's word
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

# The source folder is the root of the repository, so every link between pages is the one that works there too.
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "shaders/README.md",
    "lab/README.md",
    "docs/*.md",
    "docs/benchmarks/*.md",
    "docs/notebooks/*.md",
    "build/gallery/*.rst",
    "build/gallery/*/*.rst",
]
exclude_patterns = [".*", "dist", "src", "tests", "tools", "build/docs", "build/gallery/sg_execution_times.rst"]
templates_path = ["templates"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_show_tb = True

autodoc_member_order = "bysource"
autodoc_mock_imports = ["av", "dask", "distributed", "jax", "torch", "xarray", "zarr"]
autodoc_typehints = "none"  # the signature of a function says its defaults, and "Args" what it takes
maximum_signature_line_length = 100
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "restride"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "to_docs.html"}  # the first page is docs/index.html
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "build/gallery",
    "ignore_pattern": r"pictures\.py$",
    "subsection_order": [f"docs/gallery/{name}" for name in ("resampling", "layouts", "types", "images")],
    "nested_sections": False,
    "image_scrapers": ("pictures.scrape",),
    "reset_modules": ("pictures.set_style",),
    "capture_repr": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "run_stale_examples": True,  # an unchanged script may run changed kernels
    "notebook_extensions": set(),  # the notebooks of the site are in docs/notebooks
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
}


def link_pictures(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link each picture to its file, as phones shrink its text; an SVG without a text has its title."""
    folder = relative_uri(app.builder.get_target_uri(docname), "_images")
    for picture in list(doctree.findall(nodes.image)):
        uri = picture["uri"]
        thumbnail = picture.get("alt") == ""  # has a link of its own, with words
        if thumbnail or uri not in app.env.images or isinstance(picture.parent, nodes.reference):
            continue
        if "alt" not in picture and uri.endswith(".svg"):
            drawn = (ROOT / uri).read_text("utf-8")
            picture["alt"] = unescape(drawn.partition("<title>")[2].partition("</title>")[0]) or uri
        link = nodes.reference("", "", internal=True, refuri=f"{folder}/{app.env.images[uri][1]}")
        picture.replace_self(link)
        link += picture


def setup(app: Sphinx) -> None:
    """Register what Sphinx calls for each page."""
    app.connect("doctree-resolved", link_pictures)
