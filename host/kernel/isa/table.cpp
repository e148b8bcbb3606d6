// The table of this instruction set.
#include "host/kernel/isa/isa.hpp"

namespace actorhost::kernel::AH_ISA {

extern const Kernels kTable;
const Kernels kTable = {
    .isa = AH_STRINGIFY(AH_ISA),
    .axpy = axpy,
    .sgd = sgd,
    .adagrad = adagrad,
    .adam = adam,
};

}  // namespace actorhost::kernel::AH_ISA
