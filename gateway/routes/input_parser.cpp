#include "gateway/routes/input_parser.hpp"

#include "gateway/admission/input_digest.hpp"
#include "session/base/failpoint.hpp"

#include <cstddef>
#include <new>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

using run_outcome = result<input_parser::parsed>;
using chat_outcome = result<input_parser::parsed_chat>;
using text_outcome = result<input_parser::parsed_text>;
using part_outcome = result<input_parser::parsed_part>;
using steer_outcome = result<input_parser::parsed_steer>;

// At first the texts are in the request, the change, the store's write buffer, and the thread.
// Later they are in the thread (as read by the store and as used), the messages for the model, and
// the model request.
constexpr std::size_t copies_of_text = 4;

failure no_memory_now() {
    return {errc::overloaded, "there is not enough memory for this request"};
}

// Frees the body and counts the memory of the input and its copies instead.
bool hold(std::size_t bytes, std::string& body, memory_share& memory) {
    std::string().swap(body);
    memory.shrink_to(bytes);
    return memory.grow_to(bytes);
}

bool hold(std::string& body, memory_share& memory) {
    return hold(body.size() * copies_of_text, body, memory);
}

// Moves the body to `kept` if it is to be kept; then it is counted once more.
bool hold(
    std::string& body, memory_share& memory, input_parser::afterwards then, std::string& kept
) {
    const bool keeps = then == input_parser::afterwards::keep_body;
    const std::size_t bytes = body.size() * (copies_of_text + (keeps ? 1 : 0));
    if (keeps) {
        kept.swap(body);
    }
    return hold(bytes, body, memory);
}

result<input_parser::parsed> hold(
    translator::run_input input, std::string& body, memory_share& memory,
    input_parser::afterwards then
) {
    std::string digest = input_digest(input.canonical);
    std::string().swap(input.canonical);
    std::string kept;
    if (!hold(body, memory, then, kept)) {
        return no_memory_now();
    }
    return input_parser::parsed{
        std::move(input), std::move(digest), std::move(memory), std::move(kept)
    };
}

run_outcome parse(
    std::string& body, const translator::input_limits& limits, memory_budget* budget,
    memory_share& memory, input_parser::afterwards then
) {
    auto input = translator::read_run_input(body, limits, budget);
    if (!input) {
        return input.error();
    }
    return hold(std::move(*input), body, memory, then);
}

chat_outcome parse_chat(
    std::string& body, const translator::input_limits& limits, memory_budget* budget,
    memory_share& memory, input_parser::afterwards then
) {
    auto chat = translator::read_chat_request(body, limits, budget);
    if (!chat) {
        return chat.error();
    }
    auto run = hold(std::move(chat->input), body, memory, then);
    if (!run) {
        return run.error();
    }
    return input_parser::parsed_chat{std::move(*run), chat->mode, std::move(chat->workspace_root)};
}

text_outcome parse_text(
    std::string& body, const translator::input_limits& limits, memory_budget* budget,
    memory_share& memory
) {
    auto text = translator::read_body_text(body, limits.max_json_depth, budget);
    if (!text) {
        return text.error();
    }
    if (!hold(body, memory)) {
        return no_memory_now();
    }
    return input_parser::parsed_text{std::move(*text), std::move(memory)};
}

steer_outcome parse_steer(
    std::string& body, const translator::input_limits& limits, memory_budget* budget,
    memory_share& memory, input_parser::afterwards then
) {
    auto request = translator::read_steer_request(body, limits, budget);
    if (!request) {
        return request.error();
    }
    std::string kept;
    if (!hold(body, memory, then, kept)) {
        return no_memory_now();
    }
    return input_parser::parsed_steer{std::move(*request), std::move(memory), std::move(kept)};
}

part_outcome parse_part(
    std::string& body, const translator::input_limits& limits, memory_budget* budget,
    memory_share& memory, const translator::part_link& link
) {
    auto part = translator::read_part_body(body, limits.max_json_depth, link, budget);
    if (!part) {
        return part.error();
    }
    if (!hold(body, memory)) {
        return no_memory_now();
    }
    return input_parser::parsed_part{std::move(*part), std::move(memory)};
}

template <class Outcome, class What>
Outcome read_here(
    const What& what, std::string& body, const translator::input_limits& limits,
    memory_share& memory
) {
    try {
        memory_budget budget(memory, body.capacity());
        return what(body, limits, &budget, memory);
    } catch (const std::bad_alloc&) { // memory_refused, or the machine is out of memory.
        return no_memory_now();
    }
}

} // namespace

template <class Outcome, class What>
asio::awaitable<Outcome> input_parser::read_with(What what, std::string body, memory_share memory) {
    const std::size_t bytes = body.size();
    auto reading = [what = std::move(what), body = std::move(body), limits = limits_,
                    memory = std::move(memory)]() mutable -> Outcome {
        if (body.size() > small_work_bytes) {
            pass_failpoint("input.parse");
        }
        return read_here<Outcome>(what, body, *limits, memory);
    };
    Outcome outcome = co_await run_heavy(&heavy_, bytes, std::move(reading));
    co_return std::move(outcome);
}

asio::awaitable<run_outcome>
input_parser::read(std::string body, memory_share memory, afterwards then) {
    auto reading = [then](
                       std::string& text, const translator::input_limits& limits,
                       memory_budget* budget, memory_share& share
                   ) {
        return parse(text, limits, budget, share, then);
    };
    return read_with<run_outcome>(reading, std::move(body), std::move(memory));
}

asio::awaitable<chat_outcome>
input_parser::read_chat(std::string body, memory_share memory, afterwards then) {
    auto reading = [then](
                       std::string& text, const translator::input_limits& limits,
                       memory_budget* budget, memory_share& share
                   ) {
        return parse_chat(text, limits, budget, share, then);
    };
    return read_with<chat_outcome>(reading, std::move(body), std::move(memory));
}

asio::awaitable<text_outcome> input_parser::read_text(std::string body, memory_share memory) {
    return read_with<text_outcome>(&parse_text, std::move(body), std::move(memory));
}

asio::awaitable<steer_outcome>
input_parser::read_steer(std::string body, memory_share memory, afterwards then) {
    auto reading = [then](
                       std::string& text, const translator::input_limits& limits,
                       memory_budget* budget, memory_share& share
                   ) {
        return parse_steer(text, limits, budget, share, then);
    };
    return read_with<steer_outcome>(reading, std::move(body), std::move(memory));
}

asio::awaitable<part_outcome>
input_parser::read_part(std::string body, memory_share memory, translator::part_link link) {
    auto with_link = [link = std::move(link
                      )](std::string& text, const translator::input_limits& limits,
                         memory_budget* budget, memory_share& share) {
        return parse_part(text, limits, budget, share, link);
    };
    return read_with<part_outcome>(std::move(with_link), std::move(body), std::move(memory));
}

void move_into(requested_run& what, input_parser::parsed input) {
    what.input = std::move(input.input);
    what.digest = std::move(input.digest);
    what.memory = std::move(input.memory);
}

} // namespace agui::gateway
