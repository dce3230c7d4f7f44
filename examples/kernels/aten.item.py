"""aten::item: the Python number in a tensor of one element.

The value has to reach the host, so the element is copied to the CPU and read there; there is nothing for
a kernel to compute.
"""


def item(self):
    if self.numel() != 1:
        msg = f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
        raise RuntimeError(msg)
    return self.as_strided((), (), self.storage_offset()).to("cpu").tolist()
