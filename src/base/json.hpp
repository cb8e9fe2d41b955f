// The project's JSON type: nlohmann's ordered_json, so that documents keep the order they are
// written in. Headers include this forward declaration only; sources include <nlohmann/json.hpp>.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gemmpeak {

using Json = nlohmann::ordered_json;

}  // namespace gemmpeak
