#include "host/kernel/kernels.hpp"

#include <cstdlib>
#include <cstring>

#include "host/kernel/counted_kernels.hpp"

namespace actorhost::kernel {

namespace sse2 {
extern const Kernels kTable;
}
#if AH_KERNEL_X86
namespace v3 {
extern const Kernels kTable;
}
namespace v4 {
extern const Kernels kTable;
}
#endif

namespace {

constexpr Isa kBestFirst[] = {Isa::v4, Isa::v3, Isa::sse2};

const Kernels& choose() noexcept {
  const char* wanted = std::getenv("ACTORHOST_ISA");
  if (wanted != nullptr) {
    for (Isa isa : kBestFirst) {
      const Kernels* table = kernels_for(isa);
      if (table != nullptr && std::strcmp(table->isa, wanted) == 0) return *table;
    }
  }
  for (Isa isa : kBestFirst) {
    if (const Kernels* table = kernels_for(isa)) return *table;
  }
  return sse2::kTable;
}

}  // namespace

const Kernels* kernels_for(Isa isa) noexcept {
  switch (isa) {
    case Isa::sse2: return &sse2::kTable;
#if AH_KERNEL_X86
    case Isa::v3: {
      const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
      return has ? &v3::kTable : nullptr;
    }
    case Isa::v4: {
      const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && kernels_for(Isa::v3) != nullptr;
      return has ? &v4::kTable : nullptr;
    }
#endif
    default: return nullptr;
  }
}

const Kernels& kernels() noexcept {
  static const Kernels& chosen = counted(choose());
  return chosen;
}

}  // namespace actorhost::kernel
