// actor.data in several Lua states of one process.

#include "bindings/modules/array/lua_data.hpp"
#include "host/data/content/data_cache.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

/// Two images of 1 x 2 pixels, used as training set and as test set.
struct SmallMnist {
  SmallMnist() {
    for (const std::string& part : {std::string("train"), std::string("t10k")}) {
      const std::string images("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02\x00\xff\x33\x66", 20);
      const std::string labels("\0\0\x08\x01\0\0\0\x02\x03\x09", 10);
      dir.write(part + "-images-idx3-ubyte", images);
      dir.write(part + "-labels-idx1-ubyte", labels);
    }
  }
  std::string load() const {
    return "ffi = require('ffi')\n"
           "data = require('actor.data')\n"
           "mnist = data.mnist('" +
           dir.path().string() +
           "')\n"
           "print(tostring(ffi.cast('intptr_t', mnist.train.images.bytes_)))\n";
  }
  const TempDir dir;
};

}  // namespace

TEST_CASE("nodes of one process share one copy of a data set, as long as one of them uses it") {
  const SmallMnist files;
  DataCache cache;
  VmFixture first;
  VmFixture apart;
  {
    VmFixture second;
    share_data(*first.vm, cache);
    share_data(*second.vm, cache);
    first.run(files.load());
    second.run(files.load());
    apart.run(files.load());
    CHECK(first.lines.at(0) == second.lines.at(0));
    CHECK(first.lines.at(0) != apart.lines.at(0));
  }
  first.run(
      "local x, y = mnist.train:batch({2, 1})\n"
      "print(('%.3f %.3f %g %g'):format(x[1][1], x[1][2], x[2][1], x[2][2]), y[1], y[2])\n"
      "print(mnist.source)");
  CHECK(first.lines.at(1) == "0.200 0.400 0 1\t10\t4");
  CHECK(first.lines.at(2) == "MNIST from " + files.dir.path().string());
  auto held = required(cache.mnist(files.dir.path()));
  const std::weak_ptr<const Mnist> watch = *held;
  held = Error{};
  CHECK(!watch.expired());
  first.run("mnist = nil collectgarbage() collectgarbage()");
  CHECK(watch.expired());
}

TEST_CASE("a damaged file is an error at the user's line with a code") {
  const SmallMnist files;
  files.dir.write("train-labels-idx1-ubyte", "junk");
  VmFixture fixture;
  const std::string message = fixture.first_line_of_error(files.load());
  CHECK(fixture.code == Code::bad_data);
  CHECK(message.find("job.lua:3: ") != std::string::npos);
  CHECK(message.find("train-labels-idx1-ubyte: not an IDX file: magic 0x6a756e6b found") != std::string::npos);
}
