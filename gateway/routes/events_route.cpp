#include "gateway/routes/events_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"
#include "gateway/log/chat_stream.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/log/run_stream.hpp"
#include "gateway/log/stream_form.hpp"
#include "gateway/routes/accepted_form.hpp"
#include "gateway/routes/named_thread.hpp"
#include "translator/chat_stream/chat_request.hpp"

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

result<std::uint64_t> read_cursor(const http_request& request, const query_parameters& query) {
    const std::string_view last_seen = request.header("last-event-id");
    const std::string* given = query.find("after");
    const std::string_view text = last_seen.empty() && given != nullptr ? *given : last_seen;
    std::uint64_t cursor = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), cursor);
    if (!text.empty() && (problem != std::errc{} || end != text.data() + text.size())) {
        return failure{errc::bad_cursor, "must be the number of an event", "after"};
    }
    return cursor;
}

// Returns nullopt for the stream of AG-UI events.
result<std::optional<translator::chat_mode>> read_form(const query_parameters& query) {
    const std::string* form = query.find("form");
    const std::string* mode = query.find("responseMode");
    if (form == nullptr || *form == "ag-ui") {
        return std::optional<translator::chat_mode>();
    }
    if (*form != "chat-stream") {
        return failure{errc::invalid_input, "must be \"ag-ui\" or \"chat-stream\"", "form"};
    }
    const auto chosen = translator::read_chat_mode(
        mode == nullptr ? std::nullopt : std::optional<std::string_view>(*mode)
    );
    if (!chosen) {
        return chosen.error();
    }
    return std::optional(*chosen);
}

// Returns true if the run has ended and the reader has all of its events.
bool has_all(event_log& log, translator::projection form, std::uint64_t after) {
    event_log::cursor place;
    place.projection = form;
    place.after = after;
    std::string rest;
    return log.read(place, sse_form(), 1, rest).ended && rest.empty();
}

asio::awaitable<handler_reply>
read_again(run_service& runs, memory_budget* budget, http_request& request) {
    const auto query = parse_query(request.query);
    if (!query) {
        co_return to_reply(query.error());
    }
    const auto cursor = read_cursor(request, *query);
    if (!cursor) {
        co_return to_reply(cursor.error());
    }
    const auto form = read_form(*query);
    if (!form) {
        co_return to_reply(form.error());
    }
    run_stream_request stream;
    stream.form = &accepted_form(request);
    const std::string* version = query->find("protocolVersion");
    if (version != nullptr) {
        const auto chosen = translator::choose_projection(
            version->empty() ? std::nullopt : std::optional<std::string_view>(*version)
        );
        if (!chosen) {
            co_return to_reply(chosen.error());
        }
        stream.projection = *chosen;
    }
    const auto thread =
        co_await find_named_thread(runs.services().store, request, request.path_parameters.at(0));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    auto found = co_await runs.attach(thread->key, request.path_parameters.at(1), *cursor);
    if (!found) {
        co_return to_reply(found.error());
    }
    if (version == nullptr) {
        stream.projection = found->projection;
    }
    const auto shown = *form ? translator::projection::v1_1 : stream.projection;
    if (has_all(*found->log, shown, found->after)) {
        // An EventSource reconnects after every stream; 204 tells it to stop (WHATWG HTML, 9.2.3).
        http_reply nothing_more;
        nothing_more.status = 204;
        nothing_more.content_type.clear();
        co_return nothing_more;
    }
    if (*form) {
        chat_stream_request chat;
        chat.log = std::move(found->log);
        chat.session_id = request.path_parameters.at(0);
        chat.message_id = request.path_parameters.at(1);
        chat.mode = **form;
        chat.after = found->after;
        chat.offset = found->offset;
        chat.budget = budget;
        chat.naming = naming_for(runs, *thread, request);
        co_return stream_reply{std::make_unique<chat_stream>(chat)};
    }
    stream.after = found->after;
    stream.offset = found->offset;
    stream.log = std::move(found->log);
    stream.naming = naming_for(runs, *thread, request);
    co_return stream_reply{std::make_unique<run_stream>(std::move(stream))};
}

} // namespace

http_handler make_events_route(run_service& runs, memory_budget* budget) {
    return [&runs, budget](http_request& request) {
        return read_again(runs, budget, request);
    };
}

} // namespace agui::gateway
