#include "runner/mcp/mcp_tool_digests.hpp"

#include "runner/mcp/mcp_limits.hpp"
#include "session/base/sha256_text.hpp"
#include "session/base/sorted_json.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace agui::runner {

namespace json = boost::json;

namespace {

/// The tools of the last list, and the same number of absent ones.
constexpr std::size_t known_max = 2 * mcp_tools_max;

} // namespace

std::string mcp_tool_digest(const mcp_tool& tool) {
    return sha256_text(
        sorted_json(json::array{tool.name, tool.description, tool.destructive, tool.resource_uri}) +
        sorted_json(tool.schema)
    );
}

mcp_tool_digests::changes mcp_tool_digests::update(const std::vector<mcp_tool>& tools) {
    changes found;
    const std::uint64_t before = lists_++;
    for (const mcp_tool& tool : tools) {
        std::string digest = mcp_tool_digest(tool);
        const auto [at, is_new] = known_.try_emplace(tool.name);
        record& known = at->second;
        if (!is_new && known.digest != digest) {
            found.changed.push_back(tool.name);
        } else if (before > 0 && (is_new || known.last_list != before)) {
            found.added.push_back(tool.name);
        }
        known = {std::move(digest), lists_};
    }
    for (const auto& [name, known] : known_) {
        if (before > 0 && known.last_list == before) {
            found.removed.push_back(name);
        }
    }
    std::ranges::sort(found.changed);
    std::ranges::sort(found.added);
    while (known_.size() > known_max) {
        known_.erase(std::ranges::min_element(known_, {}, [](const auto& each) {
            return each.second.last_list;
        }));
    }
    return found;
}

mcp_tool_digests::comparison mcp_tool_digests::compare(const std::vector<mcp_tool>& tools) const {
    comparison found;
    for (const mcp_tool& tool : tools) {
        const std::string_view known = digest_of(tool.name);
        if (known.empty()) {
            continue;
        }
        if (known == mcp_tool_digest(tool)) {
            found.same.insert(tool.name);
        } else {
            found.changed.push_back(tool.name);
        }
    }
    std::ranges::sort(found.changed);
    return found;
}

std::string_view mcp_tool_digests::digest_of(std::string_view tool) const noexcept {
    const auto known = known_.find(tool);
    const bool is_listed = known != known_.end() && known->second.last_list == lists_;
    return is_listed ? std::string_view(known->second.digest) : std::string_view();
}

std::string mcp_tool_digests::digest() const {
    std::string all;
    for (const auto& [name, known] : known_) {
        if (known.last_list == lists_) {
            all.append(known.digest);
        }
    }
    return sha256_text(all);
}

} // namespace agui::runner
