#include "host/data/content/digit_shapes.hpp"

#include <array>

namespace actorhost {

namespace {

using P = ShapePoint;

// clang-format off
constexpr P k0Oval[] = {{50, 2}, {84, 22}, {88, 60}, {50, 98}, {12, 64}, {15, 24}, {50, 2}};
constexpr P k0Open[] = {{64, 4}, {26, 12}, {10, 55}, {38, 97}, {84, 72}, {82, 22}, {46, 8}};
constexpr P k0Narrow[] = {{55, 2}, {75, 30}, {66, 80}, {42, 98}, {25, 70}, {34, 20}, {55, 2}};
constexpr P k1Line[] = {{50, 2}, {50, 98}};
constexpr P k1Flag[] = {{28, 26}, {55, 2}, {54, 98}};
constexpr P k1Base[] = {{28, 98}, {80, 98}};
constexpr P k2Top[] = {{14, 26}, {30, 6}, {60, 3}, {82, 20}, {78, 42}, {50, 68}, {15, 97}};
constexpr P k2Base[] = {{15, 97}, {88, 95}};
constexpr P k2Loop[] = {{15, 22}, {45, 2}, {80, 20}, {66, 55}, {30, 88}, {12, 90}, {20, 76}, {46, 86}, {90, 92}};
constexpr P k3Top[] = {{15, 15}, {45, 2}, {78, 15}, {72, 38}, {42, 48}};
constexpr P k3Bottom[] = {{42, 48}, {75, 55}, {85, 78}, {55, 98}, {12, 86}};
constexpr P k3Flat[] = {{15, 5}, {80, 5}, {45, 42}};
constexpr P k3Belly[] = {{45, 42}, {80, 52}, {84, 80}, {50, 98}, {12, 88}};
constexpr P k4Closed[] = {{62, 2}, {8, 66}, {92, 66}};
constexpr P k4Stem[] = {{64, 2}, {63, 98}};
constexpr P k4Open[] = {{22, 4}, {14, 52}, {84, 50}};
constexpr P k4Side[] = {{80, 8}, {70, 98}};
constexpr P k4Pen[] = {{20, 5}, {18, 40}, {40, 52}, {78, 42}};
constexpr P k5Hook[] = {{82, 4}, {26, 5}, {20, 46}};
constexpr P k5Belly[] = {{20, 46}, {50, 36}, {82, 52}, {80, 82}, {48, 98}, {12, 88}};
constexpr P k5Down[] = {{28, 5}, {24, 44}};
constexpr P k5Round[] = {{24, 44}, {62, 40}, {84, 64}, {64, 94}, {14, 94}};
constexpr P k5Bar[] = {{28, 6}, {86, 2}};
constexpr P k6Curl[] = {{72, 4}, {36, 24}, {15, 62}, {28, 93}, {60, 97}, {83, 75}, {65, 53}, {36, 55}, {18, 74}};
constexpr P k6Straight[] = {{60, 2}, {24, 44}, {16, 76}, {44, 98}, {78, 86}, {76, 60}, {46, 54}, {20, 70}};
constexpr P k7Angle[] = {{12, 6}, {85, 6}, {40, 98}};
constexpr P k7Bar[] = {{28, 50}, {76, 48}};
constexpr P k7Hook[] = {{14, 20}, {16, 6}, {84, 5}};
constexpr P k7Tail[] = {{84, 5}, {58, 48}, {48, 98}};
constexpr P k8Two[] = {{50, 48}, {20, 30}, {30, 6}, {56, 2}, {80, 15}, {75, 35}, {50, 48}, {20, 65}, {15, 86},
                       {50, 98}, {85, 86}, {80, 65}, {50, 48}};
constexpr P k8Cross[] = {{80, 14}, {50, 2}, {20, 20}, {50, 48}, {82, 76}, {50, 98}, {18, 78}, {50, 48}, {80, 14}};
constexpr P k9Head[] = {{80, 30}, {60, 50}, {30, 48}, {15, 28}, {35, 5}, {65, 4}, {80, 30}};
constexpr P k9Stem[] = {{80, 28}, {78, 60}, {68, 98}};
constexpr P k9Hook[] = {{80, 28}, {82, 70}, {52, 97}, {20, 90}};

constexpr ShapeStroke k0a[] = {{true, k0Oval}}, k0b[] = {{true, k0Open}}, k0c[] = {{true, k0Narrow}};
constexpr ShapeStroke k1a[] = {{false, k1Line}}, k1b[] = {{false, k1Flag}}, k1c[] = {{false, k1Flag}, {false, k1Base}};
constexpr ShapeStroke k2a[] = {{true, k2Top}, {false, k2Base}}, k2b[] = {{true, k2Loop}};
constexpr ShapeStroke k3a[] = {{true, k3Top}, {true, k3Bottom}}, k3b[] = {{false, k3Flat}, {true, k3Belly}};
constexpr ShapeStroke k4a[] = {{false, k4Closed}, {false, k4Stem}}, k4b[] = {{false, k4Open}, {false, k4Side}};
constexpr ShapeStroke k4c[] = {{true, k4Pen}, {false, k4Side}};
constexpr ShapeStroke k5a[] = {{false, k5Hook}, {true, k5Belly}};
constexpr ShapeStroke k5b[] = {{false, k5Down}, {true, k5Round}, {false, k5Bar}};
constexpr ShapeStroke k6a[] = {{true, k6Curl}}, k6b[] = {{true, k6Straight}};
constexpr ShapeStroke k7a[] = {{false, k7Angle}}, k7b[] = {{false, k7Angle}, {false, k7Bar}};
constexpr ShapeStroke k7c[] = {{false, k7Hook}, {true, k7Tail}};
constexpr ShapeStroke k8a[] = {{true, k8Two}}, k8b[] = {{true, k8Cross}};
constexpr ShapeStroke k9a[] = {{true, k9Head}, {true, k9Stem}}, k9b[] = {{true, k9Head}, {true, k9Hook}};

constexpr DigitShape k0[] = {k0a, k0b, k0c}, k1[] = {k1a, k1b, k1c, k1a}, k2[] = {k2a, k2b}, k3[] = {k3a, k3b};
constexpr DigitShape k4[] = {k4a, k4b, k4c}, k5[] = {k5a, k5b}, k6[] = {k6a, k6b}, k7[] = {k7a, k7b, k7c};
constexpr DigitShape k8[] = {k8a, k8b}, k9[] = {k9a, k9b};
// clang-format on

}  // namespace

std::span<const DigitShape> digit_shapes(unsigned digit) noexcept {
  static constexpr std::array<std::span<const DigitShape>, 10> kAll = {k0, k1, k2, k3, k4, k5, k6, k7, k8, k9};
  return kAll.at(digit);
}

}  // namespace actorhost
