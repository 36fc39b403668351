"""Three layers, trained together."""

from __future__ import annotations

from ._card import ALGORITHMS, Algorithm


@ALGORITHMS.add("joint_network")
class JointNetworkCard(Algorithm):
    """ReLU network whose layers are trained together by backpropagation."""

    label, color, family = "layers trained together", "gray", "depth"
    learner = "joint_network"
    prominence = "asked"
