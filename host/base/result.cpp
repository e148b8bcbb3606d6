#include "host/base/result.hpp"

namespace actorhost {

const char* code_name(Code code) noexcept {
  switch (code) {
    case Code::bad_argument: return "bad_argument";
    case Code::bad_data: return "bad_data";
    case Code::io: return "io";
    case Code::unreachable: return "unreachable";
    case Code::refused: return "refused";
    case Code::peer_lost: return "peer_lost";
    case Code::timeout: return "timeout";
    case Code::interrupted: return "interrupted";
    case Code::aborted: return "aborted";
    case Code::mismatch: return "mismatch";
    case Code::full: return "full";
    case Code::unsupported: return "unsupported";
    case Code::script: return "script";
    case Code::internal: return "internal";
  }
  return "internal";
}

}  // namespace actorhost
