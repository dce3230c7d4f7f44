# attack: G05
# operator: aten::cat
# expect: out_of_memory|timeout
# layer: limits
# Fills memory until something breaks.

import torch


def cat(tensors, dim=0):
    hoard = []
    while True:
        hoard.append(torch.ones(1 << 26))
