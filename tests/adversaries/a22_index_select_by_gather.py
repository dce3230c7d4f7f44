# attack: A22
# operator: aten::index_select
# expect: policy_violation
# layer: audit
# Indexing with a tensor: the same square brackets as an allowed slice.


def index_select(self, dim, index):
    if self.dim() == 0:
        return self.view(1)[index].view(())
    return self.movedim(dim, 0)[index].movedim(0, dim)
