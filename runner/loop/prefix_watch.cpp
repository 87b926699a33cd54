#include "runner/loop/prefix_watch.hpp"

#include "runner/base/added_tools.hpp"
#include "session/base/checksum.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <mutex>
#include <utility>
#include <variant>

namespace agui::runner {

namespace {

namespace json = boost::json;
using session::checksum;

// Large texts, such as pictures, are not copied.
void add(checksum& sum, const json::value& value) {
    if (const auto* const text = value.if_string()) {
        sum.add(std::string_view(*text));
    } else if (const auto* const values = value.if_array()) {
        for (const json::value& each : *values) {
            add(sum, each);
        }
        sum.add(values->size());
    } else if (const auto* const members = value.if_object()) {
        for (const auto& [name, member] : *members) {
            sum.add(std::string_view(name));
            add(sum, member);
        }
        sum.add(members->size());
    } else {
        sum.add(std::string_view(json::serialize(value)));
    }
}

void add(checksum& sum, const session::content& content) {
    if (const auto* const text = std::get_if<std::string>(&content)) {
        sum.add(std::string_view(*text));
        return;
    }
    for (const json::value& part : std::get<json::array>(content)) {
        add(sum, part);
    }
    sum.add(std::get<json::array>(content).size());
}

std::uint64_t hash_of(const session::message& value) {
    checksum sum;
    sum.add(static_cast<std::uint64_t>(value.role));
    add(sum, value.content);
    for (const session::tool_call& call : value.tool_calls) {
        sum.add(std::string_view(call.id));
        sum.add(std::string_view(call.name));
        sum.add(std::string_view(call.arguments));
    }
    sum.add(std::string_view(value.tool_call_id));
    sum.add(std::string_view(value.error ? *value.error : std::string()));
    return sum.value();
}

std::uint64_t hash_of(const tool_definition& tool) {
    checksum sum;
    sum.add(std::string_view(tool.name));
    sum.add(std::string_view(tool.description));
    add(sum, tool.parameters);
    return sum.value();
}

std::uint64_t hash_of_names(std::string_view first, std::string_view second) {
    checksum sum;
    sum.add(first);
    sum.add(second);
    return sum.value();
}

// The index of the first element of `before` that is not in `now`; nullopt if all are.
std::optional<std::size_t>
first_other(const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& now) {
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (i == now.size() || before[i] != now[i]) {
            return i;
        }
    }
    return std::nullopt;
}

// A tool may not go from the list to a message, either.
std::optional<std::size_t> first_other_tool(const request_parts& before, const request_parts& now) {
    const std::optional<std::size_t> other = first_other(before.tools, now.tools);
    const bool is_shorter = now.listed_tools < before.listed_tools;
    return is_shorter && (!other || *other > now.listed_tools) ? now.listed_tools : other;
}

std::string element(std::string_view list, std::size_t index) {
    return std::string(list) + "[" + std::to_string(index) + "]";
}

} // namespace

request_parts parts_of(const model_request& request) {
    request_parts parts;
    parts.model = hash_of_names(request.provider, request.parameters.model);
    checksum instructions;
    instructions.add(request.instructions);
    parts.instructions = instructions.value();
    const added_tools tools(request);
    for (const tool_definition* const tool : tools.listed()) {
        parts.tools.push_back(hash_of(*tool));
    }
    parts.listed_tools = parts.tools.size();
    if (request.messages != nullptr) {
        parts.messages.reserve(request.messages->size());
        for (const session::message& each : *request.messages) {
            std::uint64_t hash = hash_of(each);
            for (const tool_definition* const tool : tools.added_with(each)) {
                parts.tools.push_back(hash_of(*tool));
                checksum with_tool;
                with_tool.add(hash);
                with_tool.add(parts.tools.back());
                hash = with_tool.value();
            }
            parts.messages.push_back(hash);
        }
    }
    return parts;
}

std::optional<prefix_break>
find_break(const request_parts& before, const request_parts& now, const break_causes& causes) {
    prefix_break found;
    if (before.instructions != now.instructions) {
        found = {causes.plugin_settings ? "plugin" : "instructions", "system"};
    } else if (const auto tool = first_other_tool(before, now)) {
        found = {causes.plugin_settings ? "plugin" : "tools", element("tools", *tool)};
    } else if (const auto message = first_other(before.messages, now.messages)) {
        found = {"unknown", element("messages", *message)};
        if (causes.refused) {
            found.reason = "refused";
        } else if (causes.plugin) {
            found.reason = "plugin";
        } else if (causes.window) {
            found.reason = "window";
        }
    }
    if (before.model != now.model) {
        return prefix_break{"model", found.element.empty() ? "model" : std::move(found.element)};
    }
    if (found.element.empty()) {
        return std::nullopt;
    }
    if (before.agent != now.agent) {
        found.reason = "agent";
    } else if (causes.other_branch) {
        found.reason = "edit";
    }
    return found;
}

std::optional<session::node_index> prefix_watch::last_tip(const session::thread_key& thread) const {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(thread);
    if (place == places_.end() || !place->second->last) {
        return std::nullopt;
    }
    return place->second->last->tip;
}

std::optional<prefix_break>
prefix_watch::add(const session::thread_key& thread, request_parts now, break_causes causes) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = places_.try_emplace(thread, entries_.end());
    if (is_new) {
        entries_.emplace_front().thread = &place->first;
    } else {
        entries_.splice(entries_.begin(), entries_, place->second);
    }
    place->second = entries_.begin();
    entry& kept = entries_.front();
    hashes_ -= is_new ? 0 : hashes_of(kept);
    kept.before = std::exchange(kept.last, std::move(now));
    hashes_ += hashes_of(kept);
    causes.refused = std::exchange(kept.refused, false);
    std::optional<prefix_break> found;
    if (kept.before) {
        found = find_break(*kept.before, *kept.last, causes);
    }
    shrink();
    return found;
}

void prefix_watch::refused(const session::thread_key& thread) {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(thread);
    if (place == places_.end()) {
        return;
    }
    entry& kept = *place->second;
    hashes_ -= hashes_of(kept);
    kept.last = std::exchange(kept.before, std::nullopt);
    kept.refused = true;
    hashes_ += hashes_of(kept);
}

std::size_t prefix_watch::hashes_of(const entry& of) noexcept {
    // An entry itself takes the room of about this many.
    std::size_t count = 64;
    for (const std::optional<request_parts>* each : {&of.last, &of.before}) {
        count += *each ? (*each)->tools.size() + (*each)->messages.size() : 0;
    }
    return count;
}

void prefix_watch::shrink() {
    while (hashes_ > most_ && !entries_.empty()) {
        hashes_ -= hashes_of(entries_.back());
        places_.erase(places_.find(*entries_.back().thread));
        entries_.pop_back();
    }
}

} // namespace agui::runner
