"""Let ``:class:`DSS``` in a docstring lead to the page of ``symsets.DSS``, wherever it stands."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def find(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.reference | None:
    """Return a link to the one object of the library that ends in this name."""
    if node.get("refdomain") != "py":
        return None
    domain = env.domains["py"]
    last = "." + node["reftarget"].rpartition("symsets.")[2].rpartition(".")[2]
    found = [name for name in domain.data["objects"] if name.endswith(last)]
    if len(found) != 1:
        return None
    entry = domain.data["objects"][found[0]]
    from sphinx.util.nodes import make_refnode

    return make_refnode(
        app.builder, node["refdoc"], entry.docname, entry.node_id, content, found[0]
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Add it to Sphinx."""
    app.connect("missing-reference", find)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
