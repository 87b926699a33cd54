#include "session/conversation/state_change.hpp"

#include "session/base/json_pointer.hpp"
#include "session/base/stored_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::session {

namespace json = boost::json;

failure state_too_large() {
    return {
        errc::invalid_input, "state: must be at most " + std::to_string(state_bytes_max) + " bytes",
        "state"
    };
}

bool is_same_document(const json_text& left, const json_text& right) {
    if (left == right) {
        return true;
    }
    if (std::max(left.view().size(), right.view().size()) > compared_bytes_max) {
        return false;
    }
    const auto one = parse_stored(left.view());
    const auto other = parse_stored(right.view());
    return one && other && is_same_json(*one, *other);
}

result<changed_state> change_document(const json_text& before, const state_change& change) {
    auto from = parse_stored(before.view());
    auto to = parse_stored(change.patch ? before.view() : change.whole.view());
    if (!from || !to) {
        return failure{errc::internal, "the thread's state cannot be read", {}};
    }
    if (change.patch) {
        if (to->is_null()) {
            *to = json::object();
        }
        const result<void> applied = apply_patch(*to, *change.patch);
        if (!applied) {
            return applied.error();
        }
    }
    changed_state made;
    if (is_same_json(*from, *to)) {
        made.state = before;
        made.is_changed = false;
        return made;
    }
    if (change.check) {
        const result<void> checked = change.check(*to);
        if (!checked) {
            return checked.error();
        }
    }
    made.state = json_text(json::serialize(*to));
    if (made.state.view().size() > state_bytes_max) {
        return state_too_large();
    }
    // The official client applies no patch to null.
    if (!from->is_null()) {
        if (const auto patch = diff_json(*from, *to)) {
            made.patch = json::serialize(*patch);
        }
    }
    return made;
}

} // namespace agui::session
