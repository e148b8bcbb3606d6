// The table of this instruction set.
#include "host/kernel/isa/isa.hpp"

namespace actorhost::kernel::AH_ISA {

extern const Kernels kTable;
const Kernels kTable = {
    .isa = AH_STRINGIFY(AH_ISA),
    .unary = unary,
    .binary = binary,
    .copy = copy,
    .copy_turned = copy_turned,
    .fill = fill,
    .from_bytes = from_bytes,
    .is_finite = is_finite,
    .reduce = reduce,
    .reduce_rows = reduce_rows,
    .integer_best = integer_best,
    .integer_sum = integer_sum,
    .arg_max = arg_max,
    .arg_max_rows = arg_max_rows,
    .all_close = all_close,
    .softmax = softmax,
    .cross_entropy = cross_entropy,
    .matrix_vector = matrix_vector,
    .step_product = step_product,
    .step_panel = step_panel,
    .pool_windows = pool_windows,
    .unpool_windows = unpool_windows,
    .affine = affine,
    .dot_rows = dot_rows,
    .sort_columns = sort_columns,
    .dropout = dropout,
    .softmax_grad = softmax_grad,
    .axpy = axpy,
    .sgd = sgd,
    .adagrad = adagrad,
    .rmsprop = rmsprop,
    .adam = adam,
    .to_half = to_half,
    .from_half = from_half,
    .quantise = quantise,
    .dequantise = dequantise,
    .residual_of = residual_of,
    .count_magnitudes = count_magnitudes,
    .mark_magnitudes = mark_magnitudes,
};

}  // namespace actorhost::kernel::AH_ISA
