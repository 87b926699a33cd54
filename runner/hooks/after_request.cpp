#include "runner/hooks/after_request.hpp"

namespace agui::runner {

void after_request::append(session::message message, append_options options) {
    if (all_->closed) {
        return;
    }
    all_->requested = all_->requested || options.request;
    appended_after::entry entry{std::move(message), options, plugin_, all_->deferred.size()};
    if (options.deferred) {
        all_->deferred.push_back(std::move(entry));
    } else {
        all_->now.push_back(std::move(entry));
        all_->on_append();
    }
}

void after_request::append(std::vector<session::message> messages, append_options options) {
    for (session::message& each : messages) {
        append(std::move(each), options);
    }
}

void after_request::append_and_request(session::message message, append_options options) {
    options.request = true;
    append(std::move(message), options);
}

void after_request::append_and_request(
    std::vector<session::message> messages, append_options options
) {
    options.request = true;
    append(std::move(messages), options);
}

} // namespace agui::runner
