#include "gateway/peers/peer_request.hpp"

#include "session/base/parse_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <utility>
#include <vector>

namespace agui::gateway {

namespace json = boost::json;

namespace {

failure unreadable() {
    return {errc::invalid_input, "is not a valid message between gateways", {}, {}};
}

// Principals need not be UTF-8.
result<json::object> read_object(std::string_view body, std::size_t max_depth = 2) {
    auto value = parse_json(body, {.max_depth = max_depth, .any_bytes = true});
    if (!value) {
        return value.error();
    }
    if (!value->is_object()) {
        return unreadable();
    }
    return std::move(value->get_object());
}

// Returns false if the member has another type. A missing member leaves `into` unchanged.
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
    if (what.run_number != 0) {
        body["runNumber"] = what.run_number;
    }
    if (what.age.count() != 0) {
        body["age"] = what.age.count();
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
    std::int64_t age = 0;
    const bool is_sound =
        read_text(*fields, "principal", what.key.principal) &&
        read_text(*fields, "threadId", what.key.thread_id) && read_text(*fields, "runId", run_id) &&
        read_wish(*fields, what.wish) && read_number(*fields, "runNumber", what.run_number) &&
        read_number(*fields, "age", age) && read_number(*fields, "after", what.after) &&
        read_number(*fields, "stream", what.stream);
    if (!is_sound || age < 0) {
        return unreadable();
    }
    what.age = std::chrono::milliseconds(age);
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

namespace {

using header_list = std::vector<std::pair<std::string, std::string>>;

json::array write_headers(const header_list& headers) {
    json::array out;
    for (const auto& [name, value] : headers) {
        out.push_back(json::array{json::string(name), json::string(value)});
    }
    return out;
}

json::array write_texts(const std::vector<std::string>& texts) {
    json::array out;
    for (const std::string& each : texts) {
        out.emplace_back(each);
    }
    return out;
}

bool read_texts(const json::object& from, std::string_view name, std::vector<std::string>& into) {
    const json::value* const found = from.if_contains(name);
    if (found == nullptr || !found->is_array()) {
        return false;
    }
    for (const json::value& each : found->get_array()) {
        if (!each.is_string()) {
            return false;
        }
        into.emplace_back(each.get_string());
    }
    return true;
}

bool read_headers(const json::object& from, header_list& into) {
    const json::value* const found = from.if_contains("headers");
    if (found == nullptr || !found->is_array()) {
        return false;
    }
    for (const json::value& each : found->get_array()) {
        const json::array* const pair = each.if_array();
        if (pair == nullptr || pair->size() != 2 || !pair->at(0).is_string() ||
            !pair->at(1).is_string()) {
            return false;
        }
        into.emplace_back(pair->at(0).get_string(), pair->at(1).get_string());
    }
    return true;
}

std::string with_body(const json::object& head, std::string_view body) {
    std::string out = json::serialize(head);
    out.reserve(out.size() + 1 + body.size());
    out += '\n';
    out += body;
    return out;
}

// Takes the head from `from`, where the rest stays.
result<json::object> take_head(std::string& from) {
    const std::size_t end = from.find('\n');
    if (end == std::string::npos) {
        return unreadable();
    }
    auto head = read_object(std::string_view(from).substr(0, end), 3);
    from.erase(0, end + 1);
    return head;
}

// Both members, or neither.
bool read_sharing(const json::object& head, client_request& what) {
    if (!head.contains("sharedId") && !head.contains("right")) {
        return true;
    }
    std::string right;
    if (!read_text(head, "sharedId", what.shared_id) || !read_text(head, "right", right)) {
        return false;
    }
    const auto known = session::access_right_from_string(right);
    what.right = known.value_or(session::access_right::read);
    return known && session::is_shared_id(what.shared_id);
}

} // namespace

std::string write_passed(const client_request& what, std::chrono::steady_clock::time_point now) {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - what.received);
    json::object head{
        {"method", what.method},
        {"pattern", what.pattern},
        {"parameters", write_texts(what.path_parameters)},
        {"headers", write_headers(what.headers)},
        {"principal", what.principal},
        {"sender", what.sender},
        {"address", what.address.whole},
        {"countedAddress", what.address.counted},
        {"threadId", what.thread_id},
        {"runId", what.run_id},
        {"age", age.count()}
    };
    if (!what.shared_id.empty()) {
        head["sharedId"] = what.shared_id;
        head["right"] = to_string(what.right);
    }
    return with_body(head, what.body);
}

result<client_request>
read_passed(std::string text, std::chrono::steady_clock::time_point arrived) {
    const auto head = take_head(text);
    if (!head) {
        return head.error();
    }
    client_request what;
    std::int64_t age = -1;
    const bool is_sound =
        read_text(*head, "method", what.method) && read_text(*head, "pattern", what.pattern) &&
        read_texts(*head, "parameters", what.path_parameters) &&
        read_headers(*head, what.headers) && read_text(*head, "principal", what.principal) &&
        read_text(*head, "sender", what.sender) &&
        read_text(*head, "address", what.address.whole) &&
        read_text(*head, "countedAddress", what.address.counted) &&
        read_text(*head, "threadId", what.thread_id) && read_text(*head, "runId", what.run_id) &&
        read_number(*head, "age", age);
    if (!is_sound || age < 0 || !read_sharing(*head, what)) {
        return unreadable();
    }
    what.received = arrived - std::chrono::milliseconds(age);
    what.body = std::move(text);
    return what;
}

std::string write_answer(const client_answer& what) {
    return with_body(
        {{"status", what.status},
         {"headers", write_headers(what.headers)},
         {"contentType", what.content_type},
         {"runId", what.run_id},
         {"elsewhere", what.is_elsewhere}},
        what.body
    );
}

result<client_answer> read_answer(std::string text) {
    const auto head = take_head(text);
    if (!head) {
        return head.error();
    }
    client_answer what;
    const bool is_sound =
        read_number(*head, "status", what.status) && read_headers(*head, what.headers) &&
        read_text(*head, "contentType", what.content_type) &&
        read_text(*head, "runId", what.run_id) && read_flag(*head, "elsewhere", what.is_elsewhere);
    if (!is_sound) {
        return unreadable();
    }
    what.body = std::move(text);
    return what;
}

} // namespace agui::gateway
