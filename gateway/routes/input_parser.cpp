#include "gateway/routes/input_parser.hpp"

#include "gateway/runs/input_digest.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <new>
#include <optional>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// What is read in a few milliseconds.
constexpr std::size_t large_bytes = 256 * 1024;

using outcome = result<input_parser::parsed>;

// A state is held three times: in the request, in the change that it makes, and in the thread.
constexpr std::size_t copies_of_state = 3;
// Texts are held by the request, the change and what is written to the store.
constexpr std::size_t copies_of_text = 3;

std::size_t bytes_of(const boost::json::value& value) {
    std::size_t bytes = 0;
    if (const boost::json::array* array = value.if_array()) {
        bytes = array->capacity() * sizeof(value);
        for (const boost::json::value& element : *array) {
            bytes += bytes_of(element);
        }
    } else if (const boost::json::object* object = value.if_object()) {
        constexpr std::size_t index_bytes = 8;
        bytes = object->capacity() * (sizeof(boost::json::key_value_pair) + index_bytes);
        for (const auto& member : *object) {
            bytes += member.key().size() + 1 + bytes_of(member.value());
        }
    } else if (const boost::json::string* text = value.if_string()) {
        bytes = text->capacity();
    }
    return bytes;
}

std::size_t bytes_of(const translator::run_input& input, std::size_t body_bytes) {
    const std::size_t state = input.state ? bytes_of(*input.state) : 0;
    return state * copies_of_state + body_bytes * copies_of_text;
}

failure no_memory() { return {errc::overloaded, "there is no memory for this request", {}, {}}; }

outcome
parse(std::string_view body, const translator::input_limits& limits, memory_budget* budget) {
    try {
        auto input = translator::read_run_input(body, limits, budget);
        if (!input) {
            return input.error();
        }
        std::string digest = input_digest(input->canonical);
        std::string().swap(input->canonical);
        memory_share held(budget);
        if (body.size() > large_bytes && !held.grow_to(bytes_of(*input, body.size()))) {
            return no_memory();
        }
        return input_parser::parsed{std::move(*input), std::move(digest), std::move(held)};
    } catch (const std::bad_alloc&) { // memory_refused, or the machine itself.
        return no_memory();
    }
}

// A result has no default, as co_spawn wants it.
asio::awaitable<std::optional<outcome>>
parse_there(std::string body, translator::input_limits limits, memory_budget* budget) {
    co_return parse(body, limits, budget);
}

} // namespace

asio::awaitable<outcome> input_parser::read(std::string body) {
    if (body.size() <= large_bytes) {
        co_return parse(body, limits_, budget_);
    }
    auto read = co_await asio::co_spawn(
        large_, parse_there(std::move(body), limits_, budget_), asio::use_awaitable
    );
    co_return std::move(*read);
}

} // namespace agui::gateway
