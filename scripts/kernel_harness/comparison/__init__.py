"""Is a result right, and where is it wrong?

    compare        acceptance against float64; contraction, roundings, flushed, leaning: what a result may be off by
    row_scale      what the values of a row amount to
    diagnosis      where the wrong elements lie, and the likely cause
    null_kernels   results of kernels that compute nothing
    choices        orders among equal values, which PyTorch does not promise
    structure      of a result: tensors, dtypes, shapes, names
"""
