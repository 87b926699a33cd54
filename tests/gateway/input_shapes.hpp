#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace agui::test {

/// The contents of a client's requests, as numbers. `size` of bodies_of() multiplies the numbers
/// marked with *.
struct input_shape {
    std::string name;
    unsigned users = 0;           ///< * user messages
    unsigned assistants = 0;      ///< *
    unsigned answers = 0;         ///< * tool messages
    unsigned systems = 0;         ///< *
    unsigned reasonings = 0;      ///< *
    unsigned message_ids = 0;     ///< distinct ids of messages; 0 gives each its own
    unsigned parts = 0;           ///< * parts of the first user message
    unsigned parts_each = 0;      ///< parts of each other user message; 0 makes it a text
    unsigned calls = 0;           ///< * calls of the first assistant message
    unsigned calls_each = 0;      ///< calls of each other assistant message
    unsigned call_ids = 0;        ///< distinct ids of calls and answers; 0 gives each its own
    unsigned tools = 0;           ///< not above the limit of 128
    unsigned context = 0;         ///< *
    unsigned resume = 0;          ///< *
    unsigned state_members = 0;   ///< *
    unsigned state_zeros = 0;     ///< *
    unsigned unknown_members = 0; ///< *
    unsigned forwarded = 0;       ///< *
    unsigned depth = 0;           ///< levels around each of them
    bool binary = false;          ///< every second part is a legacy one
    bool other_texts = false;     ///< other texts in the second request
    bool other_ids = false;       ///< other ids in the second request
    bool client_history = false;  ///< session.history = "client"
};

/// The requests of a conversation of that shape, which follow each other on one thread.
[[nodiscard]] std::vector<std::string>
bodies_of(const input_shape& shape, unsigned size, unsigned requests = 2);

/// Shapes that cost the most if a step is not linear, written by hand or found by
/// tests/bench/shape_search.
[[nodiscard]] std::vector<input_shape> worst_shapes();

[[nodiscard]] input_shape random_shape(std::uint32_t seed);

/// Writes a shape as text for worst_shapes().
[[nodiscard]] std::string to_string(const input_shape& shape);

} // namespace agui::test
