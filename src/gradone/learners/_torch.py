"""PyTorch modules read in the form of :class:`._models.Model`, and trained step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._models import Function, Model


def read_module(module: Any, d: int) -> Model:
    """Predictions, first layer, hidden layers and exact gradients of a module.

    Hidden layers are what enters each linear map but the first: found by hooks, which are taken
    away again.
    """
    import torch

    from ._models import Model

    linear = [
        (name, one)
        for name, one in module.named_modules()
        if getattr(getattr(one, "weight", None), "ndim", 0) == 2
    ]
    first = next((one.weight for _, one in linear if one.weight.shape[1] == d), None)

    def run(X: np.ndarray, *, grad: bool = False) -> tuple[Any, Any]:
        like = next(module.parameters(), torch.zeros(0))
        x = torch.as_tensor(np.ascontiguousarray(X), dtype=like.dtype, device=like.device)
        x.requires_grad_(grad)
        was_training = module.training
        module.eval()
        try:
            with torch.set_grad_enabled(grad):
                found = module(x)
        finally:
            module.train(was_training)
        return x, found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found

    def predict(X: np.ndarray) -> np.ndarray:
        return np.asarray(run(X)[1].cpu().numpy(), np.float64)

    def gradients(X: np.ndarray) -> np.ndarray:
        x, found = run(X, grad=True)
        [slope] = torch.autograd.grad(found.sum(), x)
        return np.asarray(slope.cpu().numpy(), np.float64)

    def features_of(layer: Any) -> Function:
        def features(X: np.ndarray) -> np.ndarray:
            kept: list[Any] = []
            hook = layer.register_forward_pre_hook(lambda _, given: kept.append(given[0].detach()))
            try:
                run(X)
            finally:
                hook.remove()
            return np.asarray(kept[0].cpu().numpy(), np.float64)

        return features

    layers = {f"input of {name or 'the module'}": features_of(one) for name, one in linear[1:]}
    weights = None if first is None else np.asarray(first.detach().cpu().numpy(), np.float64)
    return Model(predict, weights, layers, gradients)


def module_step(module: Any, optimizer: Any) -> Callable[[np.ndarray, np.ndarray], Any]:
    """One step of an optimizer on half the mean squared error of a batch; gives the module."""
    import torch

    def step(X: np.ndarray, y: np.ndarray) -> Any:
        like = next(module.parameters())
        kind = {"dtype": like.dtype, "device": like.device}
        found = module(torch.as_tensor(X, **kind)).reshape(len(X))
        loss = 0.5 * ((torch.as_tensor(y, **kind) - found) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return module

    return step
