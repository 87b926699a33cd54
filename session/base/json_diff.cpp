#include "session/base/json_patch.hpp"

#include "session/base/json_pointer.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace agui {

namespace json = boost::json;

namespace {

// A patch this much larger than the document is still sent: it says what has changed.
constexpr std::size_t patch_bytes_more = 4096;
// The bytes of an operation besides its path and value.
constexpr std::size_t operation_bytes = 32;

class differ {
public:
    differ(std::size_t max_operations, std::size_t max_bytes)
        : max_operations_(max_operations), max_bytes_(max_bytes) {}

    /// False if no patch should be sent.
    bool diff(const json::value& from, const json::value& to) {
        if (from.is_object() && to.is_object()) {
            return diff_objects(from.get_object(), to.get_object());
        }
        if (from.is_array() && to.is_array()) {
            return diff_arrays(from.get_array(), to.get_array());
        }
        return is_same_json(from, to) || emit("replace", &to);
    }

    [[nodiscard]] json::array take() { return std::move(patch_); }

private:
    template <class Function>
    bool at(std::string_view token, Function change) {
        const std::size_t size = text_.size();
        append_token(text_, token);
        tokens_.emplace_back(token);
        const bool goes_on = change();
        tokens_.pop_back();
        text_.resize(size);
        return goes_on;
    }

    bool emit(std::string_view op, const json::value* value) {
        const std::size_t rest = max_bytes_ - bytes_;
        std::size_t size = operation_bytes + text_.size();
        if (value != nullptr && size < rest) {
            size += json_size(*value, rest - size);
        }
        if (tokens_.empty() || size > rest || patch_.size() == max_operations_ ||
            is_refused_by_clients(tokens_)) {
            return false;
        }
        bytes_ += size;
        json::object operation{{"op", op}, {"path", text_}};
        if (value != nullptr) {
            operation.emplace("value", *value);
        }
        patch_.push_back(std::move(operation));
        return true;
    }

    bool diff_objects(const json::object& from, const json::object& to) {
        const bool removed = std::ranges::all_of(from, [&](const json::key_value_pair& member) {
            return to.contains(member.key()) ||
                   at(member.key(), [&] { return emit("remove", nullptr); });
        });
        return removed && std::ranges::all_of(to, [&](const json::key_value_pair& member) {
                   const json::value* const before = from.if_contains(member.key());
                   return at(member.key(), [&] {
                       return before != nullptr ? diff(*before, member.value())
                                                : emit("add", &member.value());
                   });
               });
    }

    bool diff_arrays(const json::array& from, const json::array& to) {
        const std::size_t shorter = std::min(from.size(), to.size());
        std::size_t start = 0;
        while (start < shorter && is_same_json(from[start], to[start])) {
            ++start;
        }
        std::size_t end = 0;
        while (end < shorter - start &&
               is_same_json(from[from.size() - 1 - end], to[to.size() - 1 - end])) {
            ++end;
        }
        const std::size_t common_end = shorter - end;
        for (std::size_t i = start; i < common_end; ++i) {
            if (!at(std::to_string(i), [&] { return diff(from[i], to[i]); })) {
                return false;
            }
        }
        for (std::size_t i = common_end; i < from.size() - end; ++i) {
            if (!at(std::to_string(common_end), [&] { return emit("remove", nullptr); })) {
                return false;
            }
        }
        for (std::size_t i = common_end; i < to.size() - end; ++i) {
            if (!at(std::to_string(i), [&] { return emit("add", &to[i]); })) {
                return false;
            }
        }
        return true;
    }

    const std::size_t max_operations_;
    const std::size_t max_bytes_;
    std::string text_; ///< The path of the values that are compared.
    json_pointer tokens_;
    json::array patch_;
    std::size_t bytes_ = 0; ///< Of patch_, about.
};

} // namespace

std::optional<json::array>
diff_json(const json::value& from, const json::value& to, const patch_limits& limits) {
    const std::size_t most = json_size(to, limits.max_added_bytes) + patch_bytes_more;
    differ made(limits.max_operations, most);
    if (!made.diff(from, to)) {
        return std::nullopt;
    }
    return made.take();
}

} // namespace agui
