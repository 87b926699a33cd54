#include "session/base/json_patch.hpp"

#include "session/base/json_pointer.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <utility>

namespace agui {

namespace json = boost::json;

namespace {

using pointer = json_pointer;

// json_size() says at least so many bytes for a value and its name.
constexpr std::size_t value_bytes = 4;

bool begins_with(const pointer& whole, const pointer& start) {
    return whole.size() >= start.size() && std::equal(start.begin(), start.end(), whole.begin());
}

/// Applies operations to a document of its own. Of all failures the first is kept.
class patcher {
public:
    patcher(json::value document, const patch_limits& limits)
        : document_(std::move(document)), limits_(limits) {}

    bool apply(const json::value& operation, std::size_t index) {
        index_ = index;
        const json::object* const members = operation.if_object();
        if (members == nullptr) {
            return malformed({}, "must be an object");
        }
        const json::value* const name = members->if_contains("op");
        const json::string* const op = name == nullptr ? nullptr : name->if_string();
        if (op == nullptr) {
            return malformed("op", "must be a string");
        }
        std::optional<pointer> path = pointer_in(*members, "path");
        if (!path) {
            return false;
        }
        if (*op == "remove") {
            return remove(*path);
        }
        if (*op == "move" || *op == "copy") {
            const std::optional<pointer> from = pointer_in(*members, "from");
            return from && (*op == "move" ? move(*from, *path) : copy(*from, *path));
        }
        const json::value* const value = members->if_contains("value");
        if (*op != "add" && *op != "replace" && *op != "test") {
            return malformed("op", "must be add, remove, replace, move, copy or test");
        }
        if (value == nullptr) {
            return malformed("value", "is required");
        }
        if (*op == "test") {
            return test(*path, *value);
        }
        return *op == "add" ? add(*path, *value) : replace(*path, *value);
    }

    [[nodiscard]] failure take_failure() { return std::move(failure_); }
    [[nodiscard]] json::value take() { return std::move(document_); }

private:
    bool fail(errc code, std::string_view member, std::string detail) {
        std::string path = "[" + std::to_string(index_) + "]";
        if (!member.empty()) {
            path.append(".").append(member);
        }
        failure_ = {code, path + ": " + std::move(detail), path};
        return false;
    }

    bool malformed(std::string_view member, std::string_view what) {
        return fail(errc::invalid_input, member, std::string(what));
    }

    bool misses(std::string_view member, const pointer& place) {
        return fail(errc::patch_conflict, member, "the document has no value at " + shown(place));
    }

    static std::string shown(const pointer& place) {
        std::string text = "\"";
        for (const std::string& token : place) {
            append_token(text, token);
        }
        return text + "\"";
    }

    std::optional<pointer> pointer_in(const json::object& members, std::string_view key) {
        const json::value* const value = members.if_contains(key);
        const json::string* const text = value == nullptr ? nullptr : value->if_string();
        if (text == nullptr) {
            malformed(key, "must be a string");
            return std::nullopt;
        }
        std::optional<pointer> read = parse_pointer(*text);
        if (!read) {
            malformed(key, "must be a JSON Pointer");
        } else if (read->size() >= limits_.max_depth) {
            malformed(key, "is too deep");
            read.reset();
        }
        return read;
    }

    [[nodiscard]] json::value* find(const pointer& place) {
        return const_cast<json::value*>(find_value(document_, place)); // document_ is ours.
    }

    /// The value that holds the last token's one; null if there is none.
    [[nodiscard]] json::value* find_parent(const pointer& place) {
        return find(pointer(place.begin(), place.end() - 1));
    }

    bool count_added(const json::value& value, std::size_t depth, std::string_view member) {
        const std::size_t rest = limits_.max_added_bytes - added_;
        const std::size_t size = json_size(value, rest);
        if (size > rest) {
            return malformed(member, "adds more than the server allows");
        }
        added_ += size;
        return is_nested_within(value, limits_.max_depth - depth) ||
               malformed(member, "makes the document too deep");
    }

    bool count_moves(std::size_t moves) {
        if (moves > limits_.max_moves - moves_) {
            return malformed("path", "moves more elements than the server allows");
        }
        moves_ += moves;
        return true;
    }

    bool put(const pointer& place, json::value value) {
        if (place.empty()) {
            document_ = std::move(value);
            return true;
        }
        json::value* const parent = find_parent(place);
        if (parent == nullptr) {
            return misses("path", pointer(place.begin(), place.end() - 1));
        }
        if (json::object* const object = parent->if_object()) {
            object->insert_or_assign(place.back(), std::move(value));
            return true;
        }
        json::array* const array = parent->if_array();
        if (array == nullptr) {
            return misses("path", place);
        }
        const std::optional<std::size_t> index =
            place.back() == "-" ? std::optional(array->size()) : index_in_array(place.back());
        if (!index || *index > array->size()) {
            return misses("path", place);
        }
        if (!count_moves(array->size() - *index)) {
            return false;
        }
        array->insert(array->begin() + *index, std::move(value));
        return true;
    }

    bool add(const pointer& place, const json::value& value) {
        return count_added(value, place.size(), "value") &&
               put(place, json::value(value, document_.storage()));
    }

    bool replace(const pointer& place, const json::value& value) {
        json::value* const found = find(place);
        if (found == nullptr) {
            return misses("path", place);
        }
        if (!count_added(value, place.size(), "value")) {
            return false;
        }
        *found = json::value(value, found->storage());
        return true;
    }

    /// The member or element at an existing place, which is not the document.
    bool erase(const pointer& place) {
        json::value* const parent = find_parent(place);
        if (json::object* const object = parent->if_object()) {
            // The order of the members does not change, so that a document stays easy to read.
            if (!count_moves(object->size())) {
                return false;
            }
            object->stable_erase(object->find(place.back()));
            return true;
        }
        json::array& array = parent->get_array();
        const std::size_t index = index_in_array(place.back()).value_or(0);
        if (!count_moves(array.size() - index)) {
            return false;
        }
        array.erase(array.begin() + index);
        return true;
    }

    bool remove(const pointer& place) {
        if (place.empty()) {
            return fail(errc::patch_conflict, "path", "the document itself cannot be removed");
        }
        return find(place) != nullptr ? erase(place) : misses("path", place);
    }

    bool move(const pointer& from, const pointer& place) {
        json::value* const found = find(from);
        if (found == nullptr) {
            return misses("from", from);
        }
        if (from == place) {
            return true;
        }
        if (begins_with(place, from)) {
            return fail(errc::patch_conflict, "path", "a value cannot be moved into itself");
        }
        // Its depth is measured, which takes time for each of its values.
        if (!count_moves(json_size(*found, limits_.max_moves * value_bytes) / value_bytes)) {
            return false;
        }
        json::value moved = std::move(*found);
        return is_within(moved, place) && erase(from) && put(place, std::move(moved));
    }

    bool is_within(const json::value& value, const pointer& place) {
        return is_nested_within(value, limits_.max_depth - place.size()) ||
               malformed("path", "makes the document too deep");
    }

    bool copy(const pointer& from, const pointer& place) {
        const json::value* const found = find(from);
        if (found == nullptr) {
            return misses("from", from);
        }
        return count_added(*found, place.size(), "from") &&
               put(place, json::value(*found, document_.storage()));
    }

    bool test(const pointer& place, const json::value& value) {
        const json::value* const found = find(place);
        if (found == nullptr) {
            return misses("path", place);
        }
        return is_same_json(*found, value) ||
               fail(errc::patch_conflict, "value", "is not the value at " + shown(place));
    }

    json::value document_;
    const patch_limits& limits_;
    std::size_t index_ = 0;
    std::size_t added_ = 0;
    std::size_t moves_ = 0;
    failure failure_;
};

} // namespace

result<void>
apply_patch(json::value& document, const json::value& patch, const patch_limits& limits) {
    const json::array* const operations = patch.if_array();
    if (operations == nullptr) {
        return failure{errc::invalid_input, "a patch must be an array of operations", {}};
    }
    if (operations->size() > limits.max_operations) {
        return failure{
            errc::invalid_input,
            "a patch may have at most " + std::to_string(limits.max_operations) + " operations",
            {}
        };
    }
    patcher patched(json::value(document, document.storage()), limits);
    for (std::size_t i = 0; i < operations->size(); ++i) {
        if (!patched.apply((*operations)[i], i)) {
            return patched.take_failure();
        }
    }
    document = patched.take();
    return {};
}

} // namespace agui
