#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// One piece of a model's answer. The pieces are kept in the order in which the model made them.
struct turn_block {
    enum class kind { reasoning, text, call };
    kind what = kind::text;
    std::string id;          ///< reasoning: of the message that holds it; call: of the call.
    std::size_t bytes = 0;   ///< text: how much of the message's text it is.
    boost::json::value data; ///< call: what the provider wants back with it; null: nothing.

    friend bool operator==(const turn_block&, const turn_block&) = default;
};

/// How an assistant message came about, and what its provider wants back with it. Opaque to
/// everybody but that provider: it is sent to no other one, to no other model and to no client, and
/// no client can set it (P10).
struct turn_origin {
    std::string provider; ///< The configured model's name.
    std::string model;    ///< The model id that was asked for.
    std::vector<turn_block> blocks;
    boost::json::object data; ///< Of the turn.

    friend bool operator==(const turn_origin&, const turn_origin&) = default;
};

/// As it is stored with the message.
[[nodiscard]] boost::json::object to_json(const turn_origin& value);
/// Reads what to_json wrote; nothing for anything else: a message is of use without.
[[nodiscard]] std::optional<turn_origin> turn_origin_from_json(const boost::json::value& value);

} // namespace agui::session
