#include "runner/http/http_client.hpp"

#include <boost/assert/source_location.hpp>

#include <stdexcept>
#include <string>

namespace agui::runner {

std::string_view to_string(transport_failure::kind kind) noexcept {
    switch (kind) {
    case transport_failure::kind::connect:
        return "connect";
    case transport_failure::kind::tls:
        return "tls";
    case transport_failure::kind::timeout:
        return "timeout";
    case transport_failure::kind::lost:
        return "lost";
    case transport_failure::kind::protocol:
        return "protocol";
    case transport_failure::kind::redirect:
        return "redirect";
    case transport_failure::kind::memory:
        return "memory";
    case transport_failure::kind::cancelled:
        return "cancelled";
    }
    return "connect";
}

void throw_exception_from_error(
    const transport_failure& error, const boost::source_location& where
) {
    (void)where; // The caller of value() says nothing about the cause.
    throw std::runtime_error(
        "transport " + std::string(to_string(error.what)) + ": " + error.detail
    );
}

boost::asio::awaitable<void> transport_response::read_parts(part_taker& to) {
    bool more = true;
    while (more) {
        const transport_result<std::string_view> part = co_await read();
        more = to.take(part) && part && !part->empty();
    }
}

transport_failure no_memory() {
    return {
        .what = transport_failure::kind::memory,
        .detail = "there is not enough memory for the answer"
    };
}

} // namespace agui::runner
