#include "gateway/peers/peer_request.hpp"

#include "session/base/parse_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace agui::gateway {

namespace json = boost::json;

namespace {

failure unreadable() { return {errc::invalid_input, "is no message between gateways", {}, {}}; }

// Principals need not be UTF-8.
result<json::object> read_object(std::string_view body) {
    auto value = parse_json(body, {.max_depth = 2, .any_bytes = true});
    if (!value) {
        return value.error();
    }
    if (!value->is_object()) {
        return unreadable();
    }
    return std::move(value->get_object());
}

// False: it has another type. A member that is missing leaves `into` as it is.
bool read_text(const json::object& from, std::string_view name, std::string& into) {
    const json::value* const found = from.if_contains(name);
    if (found != nullptr && found->is_string()) {
        into = found->get_string();
    }
    return found == nullptr || found->is_string();
}

std::string_view name_of(stop_wish wish) {
    return wish == stop_wish::superseded           ? "superseded"
           : wish == stop_wish::superseded_if_left ? "superseded_if_left"
                                                   : "cancelled";
}

bool read_wish(const json::object& from, stop_wish& into) {
    std::string name(name_of(into));
    const bool is_text = read_text(from, "wish", name);
    for (const stop_wish each :
         {stop_wish::cancelled, stop_wish::superseded, stop_wish::superseded_if_left}) {
        if (name == name_of(each)) {
            into = each;
            return is_text;
        }
    }
    return false;
}

template <class T>
bool read_number(const json::object& from, std::string_view name, T& into) {
    const json::value* const found = from.if_contains(name);
    if (found == nullptr) {
        return true;
    }
    boost::system::error_code other;
    into = found->to_number<T>(other);
    return !other;
}

bool read_flag(const json::object& from, std::string_view name, bool& into) {
    const json::value* const found = from.if_contains(name);
    if (found == nullptr || !found->is_bool()) {
        return false;
    }
    into = found->get_bool();
    return true;
}

} // namespace

std::string write_peer_request(const peer_request& what) {
    json::object body{
        {"principal", what.key.principal},
        {"threadId", what.key.thread_id},
        {"after", what.after},
        {"stream", what.stream}
    };
    if (what.run_id) {
        body["runId"] = *what.run_id;
    }
    if (what.wish != stop_wish::cancelled) {
        body["wish"] = name_of(what.wish);
    }
    return json::serialize(body);
}

result<peer_request> read_peer_request(std::string_view body) {
    const auto fields = read_object(body);
    if (!fields) {
        return fields.error();
    }
    peer_request what;
    std::string run_id;
    const bool is_sound = read_text(*fields, "principal", what.key.principal) &&
                          read_text(*fields, "threadId", what.key.thread_id) &&
                          read_text(*fields, "runId", run_id) && read_wish(*fields, what.wish) &&
                          read_number(*fields, "after", what.after) &&
                          read_number(*fields, "stream", what.stream);
    if (!is_sound) {
        return unreadable();
    }
    if (fields->contains("runId")) {
        what.run_id = std::move(run_id);
    }
    return what;
}

std::string write_stopped(const stopped_here& what) {
    return json::serialize(json::object{{"any", what.any}, {"stopped", what.stopped}});
}

result<stopped_here> read_stopped(std::string_view body) {
    const auto fields = read_object(body);
    if (!fields) {
        return fields.error();
    }
    stopped_here what;
    if (!read_flag(*fields, "any", what.any) || !read_flag(*fields, "stopped", what.stopped)) {
        return unreadable();
    }
    return what;
}

} // namespace agui::gateway
