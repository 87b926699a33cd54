#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace agui::test {

/// What a client may send, in numbers. `size` of bodies_of() multiplies the numbers marked with *.
struct input_shape {
    std::string name;
    unsigned users = 0;           ///< * user messages
    unsigned assistants = 0;      ///< *
    unsigned answers = 0;         ///< * tool messages
    unsigned systems = 0;         ///< *
    unsigned reasonings = 0;      ///< *
    unsigned message_ids = 0;     ///< Distinct ids of messages; 0: each has its own.
    unsigned parts = 0;           ///< * parts of the first user message
    unsigned parts_each = 0;      ///< parts of the others; 0: text
    unsigned calls = 0;           ///< * calls of the first assistant message
    unsigned calls_each = 0;      ///< calls of the others
    unsigned call_ids = 0;        ///< Distinct ids of calls and answers; 0: each has its own.
    unsigned tools = 0;           ///< not above the limit of 128
    unsigned context = 0;         ///< *
    unsigned resume = 0;          ///< *
    unsigned state_members = 0;   ///< *
    unsigned state_zeros = 0;     ///< *
    unsigned unknown_members = 0; ///< *
    unsigned forwarded = 0;       ///< *
    unsigned depth = 0;           ///< levels around each of them
    bool binary = false;          ///< every second part is a legacy one
    bool other_texts = false;     ///< of the second request
    bool other_ids = false;       ///< of the second request
    bool client_history = false;  ///< session.history = "client"
};

/// The requests of a conversation of that shape, one after the other on one thread.
[[nodiscard]] std::vector<std::string>
bodies_of(const input_shape& shape, unsigned size, unsigned requests = 2);

/// Shapes that cost the most where steps are not linear, by hand and by the search
/// (tests/bench/shape_search).
[[nodiscard]] std::vector<input_shape> worst_shapes();

[[nodiscard]] input_shape random_shape(std::uint32_t seed);

/// A shape as text that can be put into worst_shapes().
[[nodiscard]] std::string to_string(const input_shape& shape);

} // namespace agui::test
