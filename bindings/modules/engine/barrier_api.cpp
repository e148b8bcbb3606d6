#include "bindings/modules/engine/barrier_api.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <new>

#include "bindings/modules/engine/ffi_barrier.h"
#include "bindings/modules/tool/call_watchdog.hpp"
#include "bindings/vm/vm.hpp"
#include "host/barrier/progress_sample.hpp"

using actorhost::Decision;
using actorhost::NodeId;
using actorhost::PartialSight;
using actorhost::Progress;
using actorhost::Resample;
using actorhost::Sampler;
using actorhost::Seen;
using actorhost::Slot;
using actorhost::Status;
using actorhost::Watch;

struct ah_sampler {
  Sampler sampler;
};

struct ah_progress {
  Progress progress;
  actorhost::Waiting waiting{progress};
  std::vector<NodeId> passed;
};

namespace {

static_assert(sizeof(ah_seen) == sizeof(Seen) && offsetof(ah_seen, held) == offsetof(Seen, held));
static_assert(offsetof(ah_seen, slots) == offsetof(Seen, slots) && offsetof(ah_seen, n) == offsetof(Seen, n));
static_assert(offsetof(ah_seen, version) == offsetof(Seen, version));
static_assert(offsetof(ah_seen, lowest) == offsetof(Seen, lowest));
static_assert(offsetof(ah_seen, highest) == offsetof(Seen, highest));
static_assert(offsetof(ah_seen, recheck_seconds) == offsetof(Seen, recheck_seconds));
static_assert(sizeof(ah_decision) == sizeof(Decision) && sizeof(bool) == sizeof(uint8_t));
static_assert(offsetof(ah_decision, recheck_seconds) == offsetof(Decision, recheck_seconds));
static_assert(offsetof(ah_decision, worker) == offsetof(Decision, worker));
static_assert(offsetof(ah_decision, step) == offsetof(Decision, step));

const Progress& progress_of(const ah_admission_batch* batch) { return *static_cast<const Progress*>(batch->progress); }
const Seen& seen_of(const ah_seen* seen) { return *reinterpret_cast<const Seen*>(seen); }
Seen& seen_of(ah_seen* seen) { return *reinterpret_cast<Seen*>(seen); }

void fill(ah_admission_batch* batch, const Progress& progress, std::span<const Slot> slots, double now,
          std::span<Decision> out, const PartialSight& sight) noexcept {
  batch->progress = &progress;
  batch->ids = progress.ids();
  batch->steps = progress.steps();
  batch->busy = progress.busy();
  batch->alive = progress.alive();
  batch->pulled = progress.pulled();
  batch->durations = progress.durations();
  batch->averages = progress.averages();
  batch->started = progress.started();
  batch->requested_at = progress.requested();
  batch->waiting = slots.data();
  batch->decisions = reinterpret_cast<ah_decision*>(out.data());
  batch->now = now;
  seen_of(&batch->everyone) = sight.seen;
  batch->population = sight.population;
  batch->aggregates = sight.aggregates ? 1 : 0;
  batch->count = static_cast<uint32_t>(slots.size());
  batch->buffered = progress.buffered();
  batch->live = 1;
}

void fill(ah_admission_batch* batch, const Progress& progress, std::span<const Slot> slots, double now,
          std::span<Decision> out) noexcept {
  fill(batch, progress, slots, now, out, {actorhost::see_all(progress), progress.size(), false});
}

// --- samples ---

ah_sampler* sampler_new(uint32_t beta, uint32_t kind, double seconds, uint64_t seed, uint64_t salt) noexcept {
  return new (std::nothrow) ah_sampler{Sampler(beta, Resample{static_cast<Resample::Kind>(kind), seconds}, seed, salt)};
}

void sampler_free(ah_sampler* sampler) noexcept { delete sampler; }

void sampler_sample(ah_sampler* sampler, const ah_admission_batch* batch, const ah_seen* from, ah_seen* seen) noexcept {
  sampler->sampler.sample(progress_of(batch), batch->slot, batch->now, seen_of(from), seen_of(seen));
}

double seen_passed(const ah_admission_batch* batch, const ah_seen* seen, double step) noexcept {
  const Progress& progress = progress_of(batch);
  const double whole = std::ceil(std::clamp(step, -1.0, 0x1.0p40));
  if (seen->slots == progress.everyone()) return progress.passed(static_cast<int64_t>(whole));
  uint32_t count = 0;
  for (uint32_t i = 0; i < seen->n; ++i) count += batch->steps[seen->slots[i]] >= whole ? 1 : 0;
  return count;
}

double seen_quantile(const ah_admission_batch* batch, const ah_seen* seen, double q) noexcept {
  const Progress& progress = progress_of(batch);
  if (seen->slots == progress.everyone()) return progress.quantile(q);
  if (seen->n == 0) return HUGE_VAL;
  std::vector<int32_t> steps(seen->n);
  for (uint32_t i = 0; i < seen->n; ++i) steps[i] = batch->steps[seen->slots[i]];
  const auto rank = static_cast<std::ptrdiff_t>(std::ceil(std::clamp(q, 0.0, 1.0) * seen->n));
  const auto nth = steps.begin() + std::max<std::ptrdiff_t>(rank - 1, 0);
  std::nth_element(steps.begin(), nth, steps.end());
  return *nth;
}

// --- the clocks for Lua code that owns them ---

int32_t report(const Status& status, char* message, uint32_t size) noexcept {
  if (status.ok()) return 1;
  std::snprintf(message, size, "%s", status.error().message.c_str());
  return 0;
}

ah_progress* progress_new() noexcept { return new (std::nothrow) ah_progress; }
void progress_free(ah_progress* p) noexcept { delete p; }

int32_t progress_add(ah_progress* p, uint32_t id, int32_t step, char* message, uint32_t size) noexcept {
  return report(p->progress.add(id, step), message, size);
}

int32_t progress_join(ah_progress* p, uint32_t id, int32_t first, char* message, uint32_t size) noexcept {
  return report(p->progress.join(id, first), message, size);
}

int32_t progress_remove(ah_progress* p, uint32_t id) noexcept { return p->progress.remove(id) ? 1 : 0; }
int32_t progress_park(ah_progress* p, uint32_t id) noexcept { return p->progress.park(id) ? 1 : 0; }
int32_t progress_unpark(ah_progress* p, uint32_t id) noexcept { return p->progress.unpark(id) ? 1 : 0; }

int32_t progress_start(ah_progress* p, uint32_t id, double now) noexcept { return p->progress.start(id, now) ? 1 : 0; }

int32_t progress_complete(ah_progress* p, uint32_t id, double now) noexcept {
  return p->progress.complete(id, now) ? 1 : 0;
}

int32_t progress_pulled(ah_progress* p, uint32_t id, double version) noexcept {
  return p->progress.pulled(id, version) ? 1 : 0;
}

int32_t progress_suspect(ah_progress* p, uint32_t id, int32_t suspected) noexcept {
  return p->progress.suspect(id, suspected != 0) ? 1 : 0;
}

int32_t progress_request(ah_progress* p, uint32_t id, double now) noexcept {
  return p->waiting.request(id, now) ? 1 : 0;
}

double progress_step(const ah_progress* p, uint32_t id) noexcept {
  const Slot slot = p->progress.slot(id);
  return slot == actorhost::kNoSlot ? -1 : p->progress.steps()[slot];
}

uint32_t progress_size(const ah_progress* p) noexcept { return p->progress.size(); }
uint32_t progress_waiting(const ah_progress* p) noexcept { return p->progress.waiting(); }

void progress_begin(ah_progress* p, double now, int32_t all, ah_admission_batch* batch) noexcept {
  if (all != 0) p->waiting.mark_all_due();
  const std::span<const Slot> slots = p->waiting.begin(now, static_cast<Watch>(batch->watch));
  fill(batch, p->progress, slots, now, p->waiting.decisions());
}

uint32_t progress_finish(ah_progress* p, const uint32_t** passed) noexcept {
  p->passed.clear();
  p->waiting.finish(p->passed);
  *passed = p->passed.data();
  return static_cast<uint32_t>(p->passed.size());
}

double progress_next_time(const ah_progress* p) noexcept { return p->waiting.next_time(); }

const ah_barrier_api kBarrierApi = {
    sampler_new,    sampler_free,      sampler_sample,  seen_passed,      seen_quantile,      progress_new,
    progress_free,  progress_add,      progress_join,   progress_remove,  progress_park,      progress_unpark,
    progress_start, progress_complete, progress_pulled, progress_suspect, progress_request,   progress_step,
    progress_size,  progress_waiting,  progress_begin,  progress_finish,  progress_next_time,
};

}  // namespace

namespace actorhost {

void open_barrier(Vm& vm) { vm.register_ffi("barrier", &kBarrierApi); }

namespace {

constexpr const char* kNotAnEvaluator = "expected an evaluator of actor.barrier (barrier.evaluator(rule, seed))";

}  // namespace

LuaRule::LuaRule(Vm& vm, ah_admission_batch* batch, LuaRef batch_ref, LuaRef evaluator, LuaRef evaluate_one,
                 LuaRef evaluate_all)
    : vm_(vm),
      L_(vm.state()),
      batch_(batch),
      batch_ref_(std::move(batch_ref)),
      evaluator_(std::move(evaluator)),
      evaluate_one_(std::move(evaluate_one)),
      evaluate_all_(std::move(evaluate_all)) {}

Result<std::unique_ptr<LuaRule>> LuaRule::pop(Vm& vm, CallWatchdog* watchdog) {
  lua_State* L = vm.state();
  const int top = lua_gettop(L);
  const auto field = [&](const char* name) {
    lua_pushstring(L, name);
    lua_rawget(L, top);
    return lua_type(L, -1);
  };
  const bool evaluator = lua_istable(L, top) && field("batch") == kLuaCdata && field("evaluate_one") == LUA_TFUNCTION &&
                         field("evaluate_all") == LUA_TFUNCTION;
  if (!evaluator) {
    lua_settop(L, top - 1);
    return Error{Code::bad_argument, kNotAnEvaluator};
  }
  // The payload of the cdata value is the struct itself.
  auto* batch = static_cast<ah_admission_batch*>(const_cast<void*>(lua_topointer(L, top + 1)));
  if (batch->magic != AH_ADMISSION_BATCH_MAGIC) {
    lua_settop(L, top - 1);
    return Error{Code::bad_argument, kNotAnEvaluator};
  }
  LuaRef all = LuaRef::pop(L);
  LuaRef one = LuaRef::pop(L);
  LuaRef batch_ref = LuaRef::pop(L);
  LuaRef self = LuaRef::pop(L);
  std::unique_ptr<LuaRule> rule(
      new LuaRule(vm, batch, std::move(batch_ref), std::move(self), std::move(one), std::move(all)));
  rule->watchdog_ = watchdog;
  return rule;
}

Status LuaRule::decide(const Progress& progress, std::span<const Slot> slots, double now, std::span<Decision> out) {
  fill(batch_, progress, slots, now, out);
  return evaluate(slots.size());
}

Status LuaRule::decide_partly(const Progress& progress, Slot slot, const PartialSight& sight, double now,
                              Decision& out) {
  fill(batch_, progress, {&slot, 1}, now, {&out, 1}, sight);
  return evaluate(1);
}

Status LuaRule::evaluate(size_t count) {
  if (watchdog_ != nullptr) {
    if (named_version_ != version()) watchdog_->name(label());
    named_version_ = version();
    watchdog_->begin(batch_);
  }
  (count == 1 ? evaluate_one_ : evaluate_all_).push(L_);
  Status status = vm_.call(L_, 0, 0);
  if (watchdog_ != nullptr) watchdog_->end();
  batch_->live = 0;
  if (status.ok()) return status;
  std::string_view message = status.error().message;
  // When raised, the whole message begins with the node's name, so the inner message must not.
  if (const std::string prefix = vm_.config().label() + ": "; message.starts_with(prefix))
    message.remove_prefix(prefix.size());
  return Error{status.error().code, label() + ": " + std::string(message)};
}

std::string LuaRule::label() const {
  evaluator_.push(L_);
  lua_pushliteral(L_, "label");
  lua_rawget(L_, -2);
  std::string text = lua_isstring(L_, -1) != 0 ? lua_tostring(L_, -1) : "barrier rule";
  lua_pop(L_, 2);
  return text;
}

int LuaRule::staleness() const { return batch_->staleness; }
Watch LuaRule::watch() const { return static_cast<Watch>(batch_->watch); }
uint64_t LuaRule::version() const { return batch_->version; }

}  // namespace actorhost
