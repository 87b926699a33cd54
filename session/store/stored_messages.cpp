#include "session/store/stored_messages.hpp"

#include "session/base/stored_json.hpp"
#include "session/conversation/message_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::session {

namespace json = boost::json;

bool read_stored_message(
    std::string_view text, const thread_key& thread, std::size_t number, message& to,
    agui::logger& log
) {
    const result<json::value> value = parse_stored(text);
    result<message> read =
        value ? message_from_stored_json(*value) : result<message>(value.error());
    if (read) {
        to = std::move(*read);
        return true;
    }
    to.role = role::activity;
    log.log(
        log_level::warning, "left out a stored message that cannot be read",
        {{"thread", thread.thread_id},
         {"message", std::to_string(number)},
         {"reason", read.error().detail}}
    );
    return false;
}

stored_request::stored_request(queued_request given) : request(std::move(given)) {
    bytes = bytes_of(request);
    json::array all;
    for (const message& each : request.messages) {
        all.emplace_back(to_stored_json(each));
    }
    messages = json::serialize(all);
    request.messages.clear();
}

void read_queued_messages(std::string_view text, queued_request& to, agui::logger& log) {
    const auto leave_out = [&](const failure& reason) {
        log.log(
            log_level::warning, "left out a queued message that cannot be read",
            {{"run", to.run_id}, {"reason", reason.detail}}
        );
    };
    const result<json::value> parsed = parse_stored(text);
    if (!parsed || !parsed->is_array()) {
        leave_out(parsed ? failure{errc::invalid_json, "is not an array"} : parsed.error());
        return;
    }
    for (const json::value& each : parsed->get_array()) {
        if (result<message> given = message_from_stored_json(each)) {
            to.messages.push_back(std::move(*given));
        } else {
            leave_out(given.error());
        }
    }
}

} // namespace agui::session
