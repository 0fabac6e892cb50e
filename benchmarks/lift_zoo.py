"""Do the networks of torchvision and timm become networks for sets, as they are?

Run ``python benchmarks/lift_zoo.py [--device cuda] [--out FILE]`` where both are installed. Each
network, with random weights, is lifted whole. Its first answers must be those of the original; then
all weights are moved a little, so that nothing is hidden by a zero, and every message must have a
gradient, but for those of layers that the network never calls, which are counted. What is refused
or not called is tried again with its attention left as it is.
"""

from __future__ import annotations

import argparse
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from kept import keep
from torch import nn

from symsets import lift

NETWORKS = {
    "torchvision.models": (
        "resnet18",
        "efficientnet_b0",
        "convnext_tiny",
        "vit_b_32",
        "swin_t",
        "densenet121",
        "mobilenet_v3_small",
        "regnet_y_400mf",
    ),
    "timm": (
        "resnet26",
        "vit_tiny_patch16_224",
        "dm_nfnet_f0",
        "nf_resnet26",
        "convnext_atto",
        "mixer_s32_224",
        "efficientnet_lite0",
        "resnetv2_50",
        "swin_tiny_patch4_window7_224",
    ),
}


def network(library: str, name: str) -> nn.Module:
    """Return a network with random weights."""
    module = import_module(library)
    made: nn.Module = (
        module.create_model(name) if library == "timm" else getattr(module, name)(weights=None)
    )
    return made


def not_attention(name: str, _: nn.Module) -> bool:
    """Pick the layers outside of attention."""
    return "attn" not in name


def examine(net: nn.Module, device: str, where: Any = None) -> dict[str, Any]:
    """Lift a network and compare; an error is told in its own words."""
    net, x = net.eval().to(device), torch.randn(2, 3, 3, 224, 224, device=device)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sets = lift(net, scheme="dss-mean", where=where).eval()
            with torch.no_grad():
                found, alone = sets(x), net(x.flatten(0, 1)).unflatten(0, (2, 3))
        except (ValueError, RuntimeError) as error:
            return {"refused": str(error)}
    error = ((found - alone).abs().max() / alone.abs().max().clamp(min=1e-12)).item()
    with torch.no_grad():
        for parameter in sets.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    sets(x).square().mean().backward()
    messages = [p for name, p in sets.named_parameters() if ".message." in name]
    heard = sum(p.grad is not None and bool(p.grad.any()) for p in messages)
    warned = [str(w.message) for w in caught if "did not reach" in str(w.message)]
    return {"error": error, "messages": len(messages), "heard": heard, "warned": warned}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for library, names in NETWORKS.items():
        for name in names:
            torch.manual_seed(0)
            rows.append({"network": f"{library}.{name}"})
            net = network(library, name)
            rows[-1] |= examine(net, options.device)
            if "error" not in rows[-1] or rows[-1]["warned"]:
                rows[-1]["without_attention"] = examine(net, options.device, not_attention)
            print(rows[-1], flush=True)
    packages = [import_module(library.partition(".")[0]) for library in NETWORKS]
    versions = {package.__name__: package.__version__ for package in packages}
    keep(options.out, device=options.device, versions=versions, rows=rows)


if __name__ == "__main__":
    main()
