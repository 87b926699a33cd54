#include "tests/gateway/strict_models.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>

namespace agui::test {

namespace {

using kind = spoken::kind;

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

template <class List>
bool begins_with(const List& now, const List& before) {
    return now.size() >= before.size() && std::equal(before.begin(), before.end(), now.begin());
}

/// Like begins_with(), but the last text of `before` may go on: that of an answer that paused.
bool begins_alike(const std::vector<std::string>& now, std::vector<std::string> before) {
    if (before.empty()) {
        return true;
    }
    const std::string last = std::move(before.back());
    before.pop_back();
    return now.size() > before.size() && begins_with(now, before) &&
           now[before.size()].starts_with(last);
}

/// What every model can read: results and texts for the model as they were sent, and of each answer
/// its text and calls.
std::vector<std::string> plain_parts(const std::vector<spoken>& parts) {
    std::vector<std::string> plain;
    std::string text;
    std::vector<std::string> calls;
    const auto end_answer = [&] {
        std::erase(text, '\n'); // Blank texts do not come back.
        if (!text.empty()) {
            plain.push_back(std::exchange(text, {}));
        }
        plain.insert(plain.end(), calls.begin(), calls.end());
        calls.clear();
    };
    for (const spoken& each : parts) {
        if (each.bytes == R"j({"type":"text","text":"(Continue.)"})j") {
            continue; // Claude's dialect has it between answers of which one was a pause.
        }
        if (!each.is_answer()) {
            end_answer();
            plain.push_back(each.bytes);
        } else if (each.what == kind::text) {
            text += each.plain;
        } else if (each.what == kind::call) {
            calls.push_back(each.plain);
        }
    }
    end_answer();
    return plain;
}

std::vector<std::string> bytes_of(const std::vector<spoken>& parts) {
    std::vector<std::string> all;
    for (const spoken& each : parts) {
        all.push_back(each.bytes);
    }
    return all;
}

/// Hashes of everything to which opaque data is bound before each part, and before a part that
/// follows the last one.
std::vector<std::size_t> hashes_before(const asked_request& asked, bool binds_tools) {
    const std::hash<std::string> hash;
    std::string begin = asked.system;
    if (binds_tools) {
        for (const std::string& tool : asked.tools) {
            begin += tool;
        }
    }
    std::vector<std::size_t> hashes = {hash(begin)};
    for (const spoken& each : asked.parts) {
        hashes.push_back(hash(std::to_string(hashes.back()) + each.bytes));
    }
    return hashes;
}

/// Each call has one result, after its answer and before anything else.
void check_results(const std::vector<spoken>& parts) {
    std::set<std::string> known;
    std::set<std::string> open;
    bool has_results = false;
    for (const spoken& each : parts) {
        if (each.what == kind::result) {
            has_results = true;
            if (open.erase(each.id) == 0) {
                refuse("a result without a call: " + each.id);
            }
            continue;
        }
        if ((has_results || !each.is_answer()) && !open.empty()) {
            refuse("a call without a result: " + *open.begin());
        }
        has_results = false;
        if (each.what == kind::call) {
            if (!known.insert(each.id).second) {
                refuse("two calls of one id: " + each.id);
            }
            open.insert(each.id);
        }
    }
    if (!open.empty()) {
        refuse("a call without a result: " + *open.begin());
    }
}

/// Bytes of `before` that `now` has at its beginning and, around what was inserted, at its end.
std::size_t common_bytes(const std::string& before, const std::string& now) {
    const std::size_t shorter = std::min(before.size(), now.size());
    const auto begin = std::mismatch(
        before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shorter), now.begin()
    );
    const auto front = static_cast<std::size_t>(begin.first - before.begin());
    const auto rest = static_cast<std::ptrdiff_t>(shorter - front);
    const auto end = std::mismatch(before.rbegin(), before.rbegin() + rest, now.rbegin());
    return front + static_cast<std::size_t>(end.first - before.rbegin());
}

} // namespace

strict_models::strict_models() {
    servers_["chat"].vendor = make_strict_chat();
    servers_["claude"].vendor = make_strict_claude();
    servers_["responses"].vendor = make_strict_responses();
}

std::vector<std::string> strict_models::names() const { return {"chat", "claude", "responses"}; }

runner::scripted_answer
strict_models::answer(const std::string& model, const runner::transport_request& request) {
    const std::lock_guard lock(mutex_);
    runner::scripted_answer reply;
    try {
        reply.body = take(model, request.body);
    } catch (const std::exception& wrong) {
        refusals_.push_back(model + ": " + wrong.what() + "\n" + request.body);
        reply.status = 400;
        reply.content_type = "application/json";
        reply.body = R"({"error":{"message":"no","type":"invalid_request_error"}})";
    }
    return reply;
}

std::string strict_models::take(const std::string& model, const std::string& body) {
    server& own = servers_.at(model);
    exchange now;
    now.body = own.vendor->without_marks(body);
    now.asked = own.vendor->read(boost::json::parse(now.body).as_object());
    check_results(now.asked.parts);
    const std::string thread = now.asked.system.substr(0, now.asked.system.find(' '));
    const std::vector<std::size_t> before = hashes_before(now.asked, own.vendor->binds_tools());
    for (std::size_t at = 0; at < now.asked.parts.size(); ++at) {
        const spoken& part = now.asked.parts[at];
        if (part.what != kind::opaque) {
            continue;
        }
        const auto known = own.opaque.find(part.bytes);
        if (known == own.opaque.end()) {
            refuse("opaque data that is not this model's: " + part.bytes);
        }
        if (known->second != before[at]) {
            refuse("opaque data of another conversation: " + part.bytes);
        }
        ++own.returned;
    }
    if (!free_.contains(thread)) {
        check_beginning(own, thread, now);
    }
    count_break(thread, model, now.asked);
    ++requests_;
    made_answer made = own.vendor->answer(now.asked, ++number_, random_);
    const std::size_t asked_parts = now.asked.parts.size();
    now.asked.parts.insert(now.asked.parts.end(), made.parts.begin(), made.parts.end());
    const std::vector<std::size_t> hashes = hashes_before(now.asked, own.vendor->binds_tools());
    for (std::size_t at = asked_parts; at < now.asked.parts.size(); ++at) {
        if (now.asked.parts[at].what == kind::opaque) {
            own.opaque[now.asked.parts[at].bytes] = hashes[at];
        }
    }
    own.last[thread] = std::move(now);
    return std::move(made.events);
}

void strict_models::check_beginning(server& of, const std::string& thread, const exchange& now) {
    const auto known = of.last.find(thread);
    if (known == of.last.end()) {
        return;
    }
    const asked_request& before = known->second.asked;
    if (now.asked.system != before.system) {
        refuse("another system text than " + before.system);
    }
    if (!begins_with(now.asked.tools, before.tools)) {
        refuse("another list of tools");
    }
    if (now.asked.tools.size() > before.tools.size()) {
        if (!begins_alike(plain_parts(now.asked.parts), plain_parts(before.parts))) {
            refuse("another text of the conversation");
        }
        return;
    }
    if (!begins_with(bytes_of(now.asked.parts), bytes_of(before.parts))) {
        refuse("another beginning than " + known->second.body);
    }
    former_bytes_ += known->second.body.size();
    repeated_ += common_bytes(known->second.body, now.body);
}

void strict_models::count_break(
    const std::string& thread, const std::string& model, const asked_request& now
) {
    if (const auto known = last_.find(thread); known != last_.end()) {
        const asked_request& before = known->second.asked;
        if (known->second.model != model) {
            ++breaks_[thread].switches;
        } else if (before.system != now.system || !begins_with(now.tools, before.tools) ||
                   !begins_alike(plain_parts(now.parts), plain_parts(before.parts))) {
            ++breaks_[thread].others;
        }
    }
    last_[thread] = {model, now};
}

void strict_models::seed(std::uint32_t value) {
    const std::lock_guard lock(mutex_);
    random_ = random_source(value);
}

void strict_models::allow_breaks(const std::string& thread) {
    const std::lock_guard lock(mutex_);
    free_.insert(thread);
}

void strict_models::forget(const std::string& thread) {
    const std::lock_guard lock(mutex_);
    for (auto& [name, each] : servers_) {
        each.last.erase(thread);
    }
}

void strict_models::note_restart() {
    const std::lock_guard lock(mutex_);
    last_.clear();
}

std::vector<std::string> strict_models::refusals() const {
    const std::lock_guard lock(mutex_);
    return refusals_;
}

std::size_t strict_models::requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
}

std::size_t strict_models::returned(const std::string& model) const {
    const std::lock_guard lock(mutex_);
    return servers_.at(model).returned;
}

double strict_models::repeated() const {
    const std::lock_guard lock(mutex_);
    return former_bytes_ == 0 ? 0
                              : static_cast<double>(repeated_) / static_cast<double>(former_bytes_);
}

std::map<std::string, counted_breaks> strict_models::breaks() const {
    const std::lock_guard lock(mutex_);
    return breaks_;
}

} // namespace agui::test
