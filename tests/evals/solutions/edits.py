"""What makes a template or an example of the skill the right solution of a task: {task: (file, edits)}.

They are built as SKILL.md tells agents to build, so that they are fast, too, and not only right. An edit is (old, new);
its old text occurs once. Of an old text (begin, end) all from begin up to end is replaced.
"""

GATE = "x * cute.math.rcp(1.0 + cute.math.exp2(-1.702 * LOG2E * x, fastmath=True), approx=True, ftz=True) + y"
GELU = "return (0.5 * x * (1.0 + cute.math.tanh(x * (0.7978845608 + 0.0356774081 * x * x), fastmath=True)),)"
SQUARED = "x = cute.arch.fmax(x, 0.0)\n    return (x * x,)"

NORM_REFERENCE = '''def reference_fn(x, eps):
    return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(eps)


'''
NORM_STATISTICS = '''EMPTY = (0.0,)  # the statistic of nothing: sum of squares
PADDING = 0.0  # an element that changes no statistic
LONGEST = 262144  # row that a cluster holds in registers


def merge(squares, across):
    """The statistics of parts, or elements, together; across(operation, values) reduces values over them."""
    return (across(operator.add, squares),)


def finish(x, squares, limit):
    """The results (E,) of the elements x (E,), from the statistics of their row; NaN stays NaN."""
    scale = cute.math.rsqrt(squares, fastmath=True)
    return x * cutlass.select_(scale > limit, limit, scale)


'''
NORM_BODY = '''        lane = thread % self.threads
        if const_expr(self.columns <= LONGEST):
            pieces = self.split(mX, row, rank, lane)
            x = self.access(mX, row, pieces).to(Float32)  # (E)
            part = merge(x * x, functools.partial(self.across, min(self.threads, 32)))
            self.access(mY, row, pieces, store=finish(x, *self.exchange(part, sP, arrived, thread, rank), limit))
        else:  # read twice, a turn of the CTA at a time
            turns, total = -(-self.columns // (self.threads * self.elements)), Float32(0.0)
            for turn in cutlass.range(turns, unroll=1):
                x = self.access(mX, row, self.split(mX, row, turn, lane)).to(Float32)
                total += (x * x).reduce(cute.ReductionOp.ADD, Float32(0.0), 0)
            (squares,) = self.exchange((cute.arch.warp_reduction_sum(total),), sP, arrived, thread, rank)
            for turn in cutlass.range(turns, unroll=1):
                pieces = self.split(mX, row, turn, lane)
                self.access(mY, row, pieces, store=finish(self.access(mX, row, pieces).to(Float32), squares, limit))

'''

EDITS = {
    "write-elementwise": ("templates/elementwise.py", (
        ("OPERATIONS = {  #", "LOG2E = 1.4426950408889634\nOPERATIONS = {  #"),
        ('OPERATIONS["swiglu"]  # EDIT: one of OPERATIONS, or a pair of your own',
         f"(lambda x, y: {GATE}), (lambda x, y: x * torch.sigmoid(1.702 * x) + y)"),
    )),
    "write-row-logsumexp": ("examples/row_logsumexp.py", ()),
    "write-l2-normalize": ("templates/reduction.py", (
        ("Row softmax, out[m, :] = softmax(x[m, :])", "Rows of length one, out[m, :] = x[m, :] / max(|x[m, :]|, eps)"),
        # the specification
        (('    "masked": lambda', "}\nTEST_CASES"), ""),
        ('"view": "misaligned"},\n}', '"view": "misaligned"},\n    "eps": {"shape": (4, 77), "eps": 100.0},\n}'),
        ('dtype=torch.bfloat16, view="contiguous", device="cuda"):  # EDIT: the inputs',
         'dtype=torch.float16, view="contiguous", eps=1e-6, device="cuda"):'),
        ('"""[x (M, N)], normally', '"""[x (M, N), eps], x normally'),
        ("dtype=dtype, device=device))]", "dtype=dtype, device=device)), eps]"),
        (("def reference_fn(x):", "# EDIT: the statistics"), NORM_REFERENCE),
        (("LOG2E = ", "# --- Configuration"), NORM_STATISTICS),
        # rows that no cluster holds
        ("    cluster = 1\n", "    cluster = 1\n    if columns > LONGEST:\n        return 512, 16 // vector, 1, 1\n"),
        ("not 1 <= x.shape[1] <= 262144", "not 1 <= x.shape[1] <= 1 << 30"),
        ('rows and 1 to 262144 "', 'rows and 1 to 2^30 "'),
        ("skew % 16 == 0 and columns >= 128", "skew % 16 == 0 and 128 <= columns <= LONGEST"),
        # 1 / eps on its way to the kernel, as no row is scaled by more
        ("self, mX: cute.Tensor, mY: cute.Tensor, stream):  # EDIT: the tensors, here and below",
         "self, mX: cute.Tensor, mY: cute.Tensor, limit: Float32, stream):"),
        ("self.kernel(mX, mY).launch", "self.kernel(mX, mY, limit).launch"),
        ("def kernel(self, mX: cute.Tensor, mY: cute.Tensor):",
         "def kernel(self, mX: cute.Tensor, mY: cute.Tensor, limit: Float32):"),
        (("        pieces = self.split(mX", "    def split"), NORM_BODY),
        ("    kernel = cute.compile(reduction, mX, mY, make",
         "    zero = Float32(0.0)\n    kernel = cute.compile(reduction, mX, mY, zero, make"),
        ("    if rows:\n",
         "    limit = min(1 / eps, 3.4028234663852886e38) if eps > 0 else float('inf')\n    if rows:\n"),
        ("columns, vector))(x, out)", "columns, vector))(x, out, limit)"),
        ("def kernel_fn(x):  # EDIT: the inputs, their checks, the results", "def kernel_fn(x, eps):"),
        ('"""softmax(x, -1) as', '"""x / max(row length, eps) as'),
    )),
    "write-gemm-epilogue": ("examples/gemm_bias_gelu.py", (
        (GELU, SQUARED),
    )),
    "write-block-scaled-fp8": ("examples/gemm_fp8_block_scaled.py", (  # its operands in the task's order
        ("def reference_fn(a, scale_a, b, scale_b)", "def reference_fn(a, b, scale_a, scale_b)"),
        ('return [a, scale_a if scales == "m" else scale_a.contiguous(), b, scale_b',
         'return [a, b, scale_a if scales == "m" else scale_a.contiguous(), scale_b'),
        ("def flops(a, scale_a, b, scale_b)", "def flops(a, b, scale_a, scale_b)"),
        ("def kernel_fn(a, scale_a, b, scale_b,", "def kernel_fn(a, b, scale_a, scale_b,"),
    )),
    "improve-softmax": ("templates/reduction.py", ()),
}
