#include "host/engine/param/shard.hpp"
#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

TEST_CASE("a shard drops half messages of workers that failed, also late ones, and no others") {
  ParamStore store;
  Log log(LogLevel::off);
  std::vector<Frame> out;
  const RunId run = 1;
  ParamShard shard(store, run, UpdateRule{}, log, out);
  constexpr uint64_t kChunks = 3;
  const auto half = [&](NodeId worker, Kind kind, std::string_view head) {
    Blob bytes = Blob::allocate(kChunks * kChunkBytes);
    EntryPacker packer(kind, server_address(0), 1, head, kind == param_kind::set);
    packer.add(key_of("w"), ParamTensor::whole({Dtype::f32, shape_of({kChunks * kChunkBytes / sizeof(float)})}, bytes));
    std::vector<Frame> frames;
    packer.finish(frames);
    REQUIRE(frames.size() == kChunks);
    frames.pop_back();
    for (Frame& frame : frames) {
      frame.src = worker_address(worker);
      shard.handle(std::move(frame));
    }
    return bytes;
  };
  const Blob live = half(999, param_kind::set, {});
  PushHead push{run, 4, true, true};
  for (NodeId worker = 0; worker < 100; ++worker) {
    const Blob set = half(worker, param_kind::set, {});
    const Blob pushed = half(worker, param_kind::push, pack(push));
    CHECK_FALSE((set.unique() || pushed.unique()));
    shard.discard({run, worker, Discard::Extent::all, 4});
    CHECK((set.unique() && pushed.unique()));
    CHECK(half(worker, param_kind::set, {}).unique());
    CHECK(half(worker, param_kind::push, pack(push)).unique());
  }
  CHECK_FALSE(live.unique());
  CHECK(out.empty());
}
