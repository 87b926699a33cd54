#include "gateway/routes/run_headers.hpp"

#include "session/base/id.hpp"

#include <string_view>
#include <utility>

namespace agui::gateway {

result<requested_run>
read_run_headers(const http_request& request, const std::vector<std::string>& passed) {
    requested_run what;
    what.principal = request.principal();
    what.source = {request.address, request.principal(), request.route_name()};
    if (!request.path_parameters.empty()) {
        what.agent_id = request.path_parameters.front();
    }
    const std::string_view leaving = request.header("x-on-disconnect");
    if (!leaving.empty()) {
        what.on_disconnect = disconnect_policy_from_string(leaving);
        if (!what.on_disconnect) {
            return failure{
                errc::invalid_input,
                "X-On-Disconnect must be continue, cancel or grace:SECONDS.",
                {},
                {}
            };
        }
    }
    const std::string_view sends = request.header("x-client-history");
    if (!sends.empty()) {
        what.client_history = session::client_history_from_string(sends);
        if (!what.client_history) {
            return failure{errc::invalid_input, "must be auto, full or delta", "X-Client-History"};
        }
    }
    what.idempotency_key = request.header("idempotency-key");
    if (!is_sound_id(what.idempotency_key)) {
        return failure{
            errc::invalid_input, "must be at most 512 bytes, without control characters",
            "Idempotency-Key"
        };
    }
    what.received = request.received;
    for (const std::string& name : passed) {
        const std::string_view value = request.header(name);
        if (!value.empty() && value.size() <= max_passed_header) {
            what.headers.emplace_back(name, value);
        }
    }
    return what;
}

} // namespace agui::gateway
