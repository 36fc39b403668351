"""Pictures of the gallery from figures that pyplot does not know.

The examples use `matplotlib.figure.Figure` directly. After each block of an example, the figures
that it has put into variables are saved, each once.
"""

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_SAVED = "_saved_by_the_gallery"


def _get_sg_image_scraper():  # the name that sphinx-gallery looks for
    return save_figures


def save_figures(block, block_vars, gallery_conf):
    """Save the new figures of a block; return the markup that shows them."""
    paths = []
    for figure in block_vars["example_globals"].values():
        if isinstance(figure, Figure) and not hasattr(figure, _SAVED):
            setattr(figure, _SAVED, True)
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=160)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])
