#include "host/wire/address.hpp"

namespace actorhost {

std::string address_name(Address address) {
  const std::string index = std::to_string(address_index(address));
  if (is_service(address)) return "host " + index;
  if (is_data(address)) return "data " + index;
  if (is_courier(address)) return "courier " + index;
  if (is_server(address)) return "server " + index;
  return is_worker(address) ? "worker " + index : "nobody";
}

}  // namespace actorhost
