#include "runner/loop/bound_data.hpp"

#include "session/base/checksum.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace agui::runner {

namespace {

using session::checksum;
using session::message;
using session::role;
using session::turn_origin;

// What an answer brings with it besides text and calls, as it is sent.
enum class sent_data : std::uint8_t { none, all, plain };

std::uint64_t base_of(const request_parts& parts, bool binds_tools) {
    checksum sum;
    sum.add(parts.instructions);
    if (binds_tools) {
        for (std::size_t at = 0; at < parts.listed_tools; ++at) {
            sum.add(parts.tools[at]); // Others belong to their messages.
        }
    }
    return sum.value();
}

// True for an answer that is only data, which is not sent.
bool is_empty_pause(const message& value) {
    return value.role == role::assistant && value.tool_calls.empty() &&
           session::is_blank(value.content) && (!value.origin || value.origin->data.empty());
}

void drop_empty_pauses(std::vector<message>& history) {
    for (std::size_t at = history.size(); at-- > 0;) {
        if (!is_empty_pause(history[at])) {
            continue;
        }
        std::size_t first = at; // Its reasoning stands in front of it.
        while (first > 0 && history[first - 1].role == role::reasoning) {
            --first;
        }
        const auto begin = history.begin();
        history.erase(
            begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(at) + 1
        );
        at = first;
    }
}

class binding {
public:
    binding(const request_parts& parts, const data_owner& asked)
        : asked_(asked), base_(base_of(parts, asked.binds_tools)) {}

    // Called for each message in order.
    void take(message& value, std::uint64_t hash) {
        if (value.role == role::reasoning) {
            return; // A part of the answer that follows.
        }
        if (value.role == role::assistant) {
            lost_data_ = false;
        }
        const sent_data sent = value.origin ? leave_out(value) : sent_data::none;
        messages_.add(hash);
        messages_.add(static_cast<std::uint64_t>(sent));
    }

    // True if the last answer has lost data that this model made.
    [[nodiscard]] bool has_lost_data() const noexcept { return lost_data_; }

    // turn_origin::prefix of an answer to the messages so far.
    [[nodiscard]] std::string prefix() const {
        checksum sum;
        sum.add(base_);
        sum.add(messages_.value());
        sum.add(0); // Mixes the last word into all digits.
        constexpr int hexadecimal = 16;
        std::array<char, 16> digits{};
        const auto end =
            std::to_chars(digits.data(), digits.data() + digits.size(), sum.value(), hexadecimal);
        return {digits.data(), end.ptr};
    }

private:
    sent_data leave_out(message& value) {
        const turn_origin& origin = *value.origin;
        const bool is_own = !asked_.provider.empty() && origin.provider == asked_.provider &&
                            origin.model == asked_.model;
        if (!is_own) {
            value.origin = nullptr;
            return sent_data::none;
        }
        if (origin.account == asked_.account && origin.prefix == prefix()) {
            return sent_data::all;
        }
        auto plain = std::make_shared<const turn_origin>(session::without_bound_data(origin));
        lost_data_ = *plain != origin;
        value.origin = std::move(plain);
        return sent_data::plain;
    }

    const data_owner& asked_;
    const std::uint64_t base_;
    checksum messages_;
    bool lost_data_ = false;
};

} // namespace

std::string
bind_data(std::vector<message>& history, request_parts& parts, const data_owner& asked) {
    binding bound(parts, asked);
    std::size_t last_answer = 0;
    for (std::size_t i = 0; i < history.size(); ++i) {
        bound.take(history[i], parts.messages.at(i));
        last_answer = history[i].role == role::assistant ? i : last_answer;
    }
    if (bound.has_lost_data()) {
        parts.left_out = last_answer;
    }
    drop_empty_pauses(history);
    return bound.prefix();
}

} // namespace agui::runner
