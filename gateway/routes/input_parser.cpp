#include "gateway/routes/input_parser.hpp"

#include "gateway/runs/input_digest.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// Up to this size a body is parsed in a few milliseconds.
constexpr std::size_t small_bytes_max = 256U << 10U;
// Up to this size it takes some tens of milliseconds: most photos, which are sent as base64.
constexpr std::size_t mid_size_bytes_max = 4U << 20U;

using outcome = result<input_parser::parsed>;
using chat_outcome = result<input_parser::parsed_chat>;
using text_outcome = result<input_parser::parsed_text>;
using part_outcome = result<input_parser::parsed_part>;

// The texts are in the request, in the change, and in what the store writes.
constexpr std::size_t copies_of_text = 3;

// Small bodies may use the memory reserve.
memory_use use_of(std::string_view body) {
    return body.size() > small_bytes_max ? memory_use::ordinary : memory_use::small;
}

failure no_memory() { return {errc::overloaded, "there is not enough memory for this request"}; }

// The input's share of the budget, until its run begins.
result<input_parser::parsed>
hold(translator::run_input input, std::size_t body_bytes, memory_budget* budget, memory_use use) {
    std::string digest = input_digest(input.canonical);
    std::string().swap(input.canonical);
    memory_share held(budget, use);
    if (!held.grow_to(body_bytes * copies_of_text)) {
        return no_memory();
    }
    return input_parser::parsed{std::move(input), std::move(digest), std::move(held)};
}

outcome
parse(std::string_view body, const translator::input_limits& limits, memory_budget* budget) {
    try {
        auto input = translator::read_run_input(body, limits, budget);
        if (!input) {
            return input.error();
        }
        return hold(std::move(*input), body.size(), budget, use_of(body));
    } catch (const std::bad_alloc&) { // memory_refused, or the machine is out of memory.
        return no_memory();
    }
}

chat_outcome
parse_chat(std::string_view body, const translator::input_limits& limits, memory_budget* budget) {
    try {
        auto chat = translator::read_chat_request(body, limits, budget);
        if (!chat) {
            return chat.error();
        }
        auto run = hold(std::move(chat->input), body.size(), budget, use_of(body));
        if (!run) {
            return run.error();
        }
        return input_parser::parsed_chat{
            std::move(*run), chat->mode, std::move(chat->workspace_root)
        };
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
}

text_outcome
parse_text(std::string_view body, const translator::input_limits& limits, memory_budget* budget) {
    try {
        auto text = translator::read_body_text(body, limits.max_json_depth, budget);
        if (!text) {
            return text.error();
        }
        memory_share held(budget, use_of(body));
        if (!held.grow_to(body.size() * copies_of_text)) {
            return no_memory();
        }
        return input_parser::parsed_text{std::move(*text), std::move(held)};
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
}

part_outcome parse_part(
    std::string_view body, const translator::input_limits& limits, memory_budget* budget,
    const translator::part_link& link
) {
    try {
        auto part = translator::read_part_body(body, limits.max_json_depth, link, budget);
        if (!part) {
            return part.error();
        }
        memory_share held(budget, use_of(body));
        if (!held.grow_to(body.size() * copies_of_text)) {
            return no_memory();
        }
        return input_parser::parsed_part{std::move(*part), std::move(held)};
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
}

// An optional, because co_spawn needs a default constructor, which `result` does not have.
template <class Outcome, class What>
asio::awaitable<std::optional<Outcome>>
parse_there(What what, std::string body, translator::input_limits limits, memory_budget* budget) {
    pass_failpoint("input.parse");
    Outcome read = what(body, limits, budget);
    std::string().swap(body); // Here, because freeing so much takes milliseconds, too.
    co_return std::move(read);
}

} // namespace

asio::thread_pool& input_parser::lane_of(std::size_t bytes) noexcept {
    return bytes <= mid_size_bytes_max ? mid_size_ : large_;
}

template <class Outcome, class What>
asio::awaitable<Outcome> input_parser::read_with(What what, std::string body) {
    if (body.size() <= small_bytes_max) {
        co_return what(body, limits_, budget_);
    }
    asio::thread_pool& lane = lane_of(body.size());
    auto read = co_await asio::co_spawn(
        lane, parse_there<Outcome>(std::move(what), std::move(body), limits_, budget_),
        asio::use_awaitable
    );
    co_return std::move(*read);
}

asio::awaitable<outcome> input_parser::read(std::string body) {
    return read_with<outcome>(&parse, std::move(body));
}

asio::awaitable<chat_outcome> input_parser::read_chat(std::string body) {
    return read_with<chat_outcome>(&parse_chat, std::move(body));
}

asio::awaitable<text_outcome> input_parser::read_text(std::string body) {
    return read_with<text_outcome>(&parse_text, std::move(body));
}

asio::awaitable<part_outcome>
input_parser::read_part(std::string body, translator::part_link link) {
    const auto with_link = [link = std::move(link
                            )](std::string_view text, const translator::input_limits& limits,
                               memory_budget* budget) {
        return parse_part(text, limits, budget, link);
    };
    return read_with<part_outcome>(with_link, std::move(body));
}

void move_into(requested_run& what, input_parser::parsed input) {
    what.input = std::move(input.input);
    what.digest = std::move(input.digest);
    what.memory = std::move(input.memory);
}

} // namespace agui::gateway
