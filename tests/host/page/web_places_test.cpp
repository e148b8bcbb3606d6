#include "host/page/web_places.hpp"

#include "tests/test.hpp"

using State = WebPlaces::State;

TEST_CASE("beyond the places, the oldest connection of the address with the most ends, never the new one") {
  WebPlaces places({.places = 4});
  for (int socket = 1; socket <= 3; ++socket) CHECK(!places.open(socket, "10.0.0.1", socket));
  CHECK(!places.open(4, "10.0.0.2", 4));
  CHECK(places.open(5, "10.0.0.3", 5) == 1);
  CHECK(places.open(6, "10.0.0.1", 6) == 2);
  CHECK(places.open(7, "10.0.0.2", 7) == 3);
  CHECK(places.open(8, "10.0.0.4", 8) == 4);  // of 4, 7 (10.0.0.2) against 5, 6
}

TEST_CASE("an address with all places loses its own oldest connection") {
  WebPlaces places({.places = 2});
  CHECK(!places.open(1, "::1", 0));
  CHECK(!places.open(2, "::1", 1));
  for (int socket = 3; socket < 100; ++socket) CHECK(places.open(socket, "::1", socket) == socket - 2);
}

TEST_CASE("viewers and requests that wait for a state take no place, responses do") {
  WebPlaces places({.places = 2});
  CHECK(!places.open(1, "a", 0));
  places.set(1, State::held, 0);
  CHECK(!places.open(2, "a", 0));
  places.set(2, State::streams, 0);
  CHECK(!places.open(3, "a", 0));
  places.set(3, State::responds, 1);
  CHECK(!places.open(4, "a", 0));
  CHECK(places.open(5, "a", 2) == 4);  // the older connection, by the begin of its state
  places.close(4);
  CHECK(places.open(6, "a", 2) == 3);
}

TEST_CASE("deadlines hold for a request, a response and a message, and are reported once") {
  WebPlaces places({.places = 9, .request_seconds = 10, .response_seconds = 30});
  CHECK(!places.next_deadline());
  places.open(1, "a", 0);
  places.open(2, "a", 1);
  places.set(2, State::responds, 2);
  places.open(3, "a", 3);
  places.set(3, State::held, 3);
  CHECK(places.next_deadline() == 10);
  CHECK(places.overdue(9.9).empty());
  CHECK(places.overdue(10) == std::vector<int>{1});
  CHECK(places.overdue(31).empty());
  CHECK(places.next_deadline() == 32);
  places.set(3, State::streams, 31);
  CHECK(places.overdue(60) == std::vector<int>{2});
  CHECK(places.overdue(61) == std::vector<int>{3});
  CHECK(!places.next_deadline());
  places.close(1);
  places.close(2);
  places.close(3);
  CHECK(places.empty());
}
