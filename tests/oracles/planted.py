"""A preload: one fault for each of four oracles to find, in the compiler itself."""


def apply():
    guards_do_not_see_grad_mode()
    sine_is_cosine_where_nothing_is_vectorized()
    a_meta_kernel_lies()
    every_row_draws_the_same()


def guards_do_not_see_grad_mode():
    from torch._dynamo.guards import GuardBuilder

    GuardBuilder.GLOBAL_STATE = lambda self, guard: None


def sine_is_cosine_where_nothing_is_vectorized():
    from torch._inductor import config
    from torch._inductor.codegen.cpp import CppOverrides

    real = CppOverrides.sin
    CppOverrides.sin = staticmethod(lambda x: f"std::cos({x})" if config.cpp.simdlen == 1 else real(x))


def a_meta_kernel_lies():
    import torch

    library = torch.library.Library("aten", "IMPL", "Meta")
    library.impl("erfc", lambda x: x.new_empty(x.shape, dtype=torch.float64), allow_override=True)
    globals()["kept"] = library  # it undoes itself when it is collected


def every_row_draws_the_same():
    from torch._inductor import inductor_prims, lowering

    draw = lowering.lowerings[inductor_prims.random]

    def draw_row(size, seed, mode, *, offset=0):
        return lowering.expand(draw(size[-1:], seed, mode, offset=offset), size)

    lowering.lowerings[inductor_prims.random] = draw_row
