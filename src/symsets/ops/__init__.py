"""Operations that exist in a plain and in a faster form.

Each is one function: its plain form is the formula in torch, its fast form is chosen where it is
known to win (README.md says when). ``with ops.plain():`` switches all fast forms off.
"""

from symsets.ops._dispatch import captured, plain
from symsets.ops.add_bias import add_bias
from symsets.ops.channel_norm import channel_norm
from symsets.ops.conv2d import conv2d
from symsets.ops.enlarge import enlarge
from symsets.ops.gate import gate
from symsets.ops.layout import memory_order, to_fast_layout
from symsets.ops.max_pool import max_pool
from symsets.ops.norm_act import norm_act
from symsets.ops.reduce import reduce_sets
from symsets.ops.set_max import set_max
from symsets.ops.spectral import circular_conv
from symsets.ops.spmm import SparseMatrix

__all__ = [
    "plain",
    "captured",
    "norm_act",
    "channel_norm",
    "gate",
    "add_bias",
    "set_max",
    "reduce_sets",
    "max_pool",
    "enlarge",
    "conv2d",
    "circular_conv",
    "SparseMatrix",
    "memory_order",
    "to_fast_layout",
]
