#include "bindings/modules/array/lua_tensor.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/test.hpp"

namespace {

lua_State* push_tensor(VmFixture& f, const std::string& expression) {
  return f.push(expression, "local tensor, ffi = require('actor.tensor'), require('ffi') ");
}

Tensor floats(const Shape& shape) {
  Tensor value;
  value.shape = shape;
  value.data = Blob::allocate(value.bytes());
  auto* x = reinterpret_cast<float*>(value.data.data());
  std::iota(x, x + value.data.size() / sizeof(float), 0.0F);
  return value;
}

const float* floats_of(const Tensor& value) { return reinterpret_cast<const float*>(value.data.data()); }

}  // namespace

TEST_CASE("Lua uses a tensor made in C++ on the same memory") {
  VmFixture f;
  lua_State* L = f.vm->state();
  const Tensor value = floats({2, 3});
  push_tensor(L, value);
  lua_setglobal(L, "given");
  f.run("assert(given.shape[2] == 3 and given.dtype == 'float32' and given:get(2, 3) == 5) given:set(1, 1, 42)");
  CHECK(floats_of(value)[0] == 42);
}

TEST_CASE("C++ reads a Lua tensor without a copy, and a view through a copy") {
  VmFixture f;
  lua_State* L = push_tensor(f, "tensor.arange(6):view(2, 3)");
  const Tensor first = tensor_at(L, -1);
  const Tensor second = tensor_at(L, -1);
  CHECK(first.shape == Shape{2, 3});
  CHECK(first.data.data() == second.data.data());
  CHECK(floats_of(first)[5] == 5);
  CHECK(tensor_at(L, -1, true).data.data() != first.data.data());
  push_tensor(f, "tensor.arange(6):view(2, 3):transpose()");
  const Tensor turned = tensor_at(L, -1);
  CHECK(turned.shape == Shape{3, 2});
  CHECK(floats_of(turned)[1] == 3);
  push_tensor(f, "tensor.arange(6):slice(1, 3, 4)");
  const Tensor part = tensor_at(L, -1);
  REQUIRE(part.data.size() == 8);
  CHECK(floats_of(part)[0] == 2);
}

TEST_CASE("the bytes outlive the tensor and the state") {
  Tensor kept;
  {
    VmFixture f;
    kept = tensor_at(push_tensor(f, "tensor.full({1000}, 3)"), -1);
    f.run("collectgarbage() collectgarbage()");
  }
  CHECK(floats_of(kept)[999] == 3);
  CHECK(kept.data.unique());
}

TEST_CASE("only a tensor is accepted as a tensor") {
  VmFixture f;
  for (const char* other :
       {"ffi.new('ah_tensor*[1]')[0]", "ffi.cast('ah_tensor*', tensor.zeros(1))",
        "ffi.cast('ah_tensor&', tensor.zeros(1))", "ffi.new('ah_tensor[1]')", "ffi.new('ah_optimiser')", "1LL", "{}",
        "'tensor'", "nil", "3", "io.stdout", "ffi.typeof('ah_tensor')", "tensor"}) {
    INFO(other);
    lua_State* L = push_tensor(f, other);
    CHECK_FALSE(is_tensor(L, -1));
    lua_settop(L, 0);
  }
  lua_State* L = push_tensor(f, "tensor.zeros(1)");
  CHECK(is_tensor(L, -1));
  CHECK(is_tensor(L, 1));
}

TEST_CASE("an empty tensor value made by FFI code has no elements and no block") {
  VmFixture f;
  const Tensor value = tensor_at(push_tensor(f, "tensor.zeros({0, 4})"), -1);
  CHECK(value.data.empty());
  CHECK(value.shape == Shape{0, 4});
  push_tensor(f.vm->state(), value);
  lua_setglobal(f.vm->state(), "given");
  f.run("assert(given.shape[2] == 4 and given.size == 0 and given:sum() == 0)");
}

TEST_CASE("bytes without the claimed shape are refused") {
  VmFixture f;
  f.vm->register_module("give", [](lua_State* L) {
    Tensor value = floats({2, 3});
    value.shape = {4, 4};
    push_tensor(L, std::move(value));
    return 1;
  });
  CHECK(f.first_line_of_error("require('give')").find("a tensor of 24 bytes does not have the shape it claims") !=
        std::string::npos);
}

TEST_CASE("bytes at an odd address are copied to an aligned address") {
  VmFixture f;
  const Tensor whole = floats({3});
  Blob shifted = Blob::allocate(13);
  std::copy_n(whole.data.data(), 12, shifted.data() + 1);
  push_tensor(f.vm->state(), {{Dtype::f32, {3}}, shifted.slice(1, 12)});
  lua_setglobal(f.vm->state(), "given");
  f.run("assert(given:get(3) == 2)");
}

TEST_CASE("states on several threads use tensors concurrently") {
  std::vector<std::thread> threads;
  std::vector<std::string> hashes(4);
  for (size_t i = 0; i < hashes.size(); ++i) {
    threads.emplace_back([&hashes, i] {
      auto vm = Vm::create({});
      if (!vm.ok()) return;
      const auto status = (*vm)->run(text_of_script("tensor_threads.lua"), "@job.lua");
      if (!status.ok()) {
        hashes[i] = status.error().message;
        return;
      }
      lua_getglobal((*vm)->state(), "hash");
      hashes[i] = lua_tostring((*vm)->state(), -1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(hashes[0].size() == 16);
  for (const std::string& hash : hashes) CHECK(hash == hashes[0]);
}
