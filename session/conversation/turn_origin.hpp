#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// One piece of a model's answer. The pieces are kept in the order in which the model made them.
struct turn_block {
    enum class kind { reasoning, text, call };
    kind what = kind::text;
    std::string id;        ///< reasoning: the id of the message that holds it; call: the call's id.
    std::size_t bytes = 0; ///< text: the length of this piece of the message's text.
    boost::json::value data; ///< call: data to send back to the provider with it; null if none.

    friend bool operator==(const turn_block&, const turn_block&) = default;
};

/// How the answer ended, as far as later requests depend on it.
enum class turn_end {
    complete,
    paused,  ///< The model goes on with the next answer. It may have no text.
    refused, ///< The model's server withdrew it. It is not sent to a model again.
    media,   ///< It has media, but neither text nor calls. Clients are shown no message.
};

/// The model that made an assistant message, and the data to send back to its provider. It goes to
/// no other provider, model or client, and no client can set it (P10).
struct turn_origin {
    std::string provider; ///< The model's name in the configuration.
    std::string model;    ///< The model id that was sent in the request.
    std::vector<turn_block> blocks;
    boost::json::object data; ///< Data to send back to the provider with the whole turn.
    /// The account with which the provider was asked (model_provider::account()); may be empty.
    std::string account = {};
    /// Identifies the beginning of the request that was answered. The data is valid only in
    /// requests that begin like it (runner/loop/bound_data.hpp).
    std::string prefix = {};
    std::uint64_t tokens = 0; ///< Tokens used for the answer, input included; 0 if not counted.
    turn_end end = turn_end::complete;

    friend bool operator==(const turn_origin&, const turn_origin&) = default;
};

// Data that is left out may be large, so these copy only what they keep.

/// The origin without data that may repeat the reasoning of the turn: of `data` only texts are
/// kept, which are names. Signatures of calls stay.
[[nodiscard]] turn_origin without_thoughts(const turn_origin& value);

/// The origin without data that is bound to its place in the conversation: of `data` only texts are
/// kept, which are names, and no data of calls.
[[nodiscard]] turn_origin without_bound_data(const turn_origin& value);

/// The form in which it is stored with the message.
[[nodiscard]] boost::json::object to_json(const turn_origin& value);
/// Reads the output of to_json(); nullopt for anything else, because the message is usable without
/// an origin.
[[nodiscard]] std::optional<turn_origin> turn_origin_from_json(const boost::json::value& value);

} // namespace agui::session
