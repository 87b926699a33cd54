#include "tests/bench/protobuf_checker.hpp"

#include <cstddef>

namespace agui::bench {
namespace {

// The arms of Event, and the fields of these events (translator/protobuf/ag_ui.proto).
enum : unsigned {
    text_start = 1,
    text_content = 2,
    text_end = 3,
    run_started = 12,
    run_finished = 13
};
enum : unsigned { thread_id = 2, run_id = 3, delta = 3 };

std::size_t take_varint(std::string_view& bytes) {
    std::size_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        value |= static_cast<std::size_t>(byte & 0x7FU) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return value;
}

// The bytes of a field, "" if the message has none. For messages whose fields all have a length.
std::string_view field_of(std::string_view message, unsigned number) {
    while (!message.empty()) {
        const std::size_t tag = take_varint(message);
        const std::string_view bytes = message.substr(0, take_varint(message));
        message.remove_prefix(bytes.size());
        if (tag >> 3U == number) {
            return bytes;
        }
    }
    return {};
}

} // namespace

std::string protobuf_checker::on_event(std::string_view, std::string_view message) {
    const auto arm = static_cast<unsigned>(std::size_t{take_varint(message)} >> 3U);
    const std::string_view event = message.substr(0, take_varint(message));
    if (ended() || started_ == (arm == run_started)) {
        return "an event at another place: arm " + std::to_string(arm);
    }
    switch (arm) {
    case run_started:
        started_ = field_of(event, thread_id) == expected().thread_id &&
                   field_of(event, run_id) == expected().run_id;
        return started_ ? "" : "RUN_STARTED of another run";
    case text_start:
    case text_end:
        if (message_open_ == (arm == text_start)) {
            return "a text message opened or closed twice";
        }
        message_open_ = arm == text_start;
        return {};
    case text_content:
        // Tokens have nothing that JSON would escape.
        return message_open_ ? take_tokens('"' + std::string(field_of(event, delta)) + '"')
                             : "content without an open message";
    case run_finished:
        set_ended();
        return message_open_ ? "RUN_FINISHED while a text message is open" : "";
    default:
        return "not expected here: arm " + std::to_string(arm);
    }
}

} // namespace agui::bench
