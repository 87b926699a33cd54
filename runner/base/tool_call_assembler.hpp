#pragma once

#include "runner/base/argument_text.hpp"
#include "runner/base/json_escapes.hpp"
#include "runner/base/model_provider.hpp"
#include "runner/base/utf8.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The part of one streamed chunk that concerns one call. Empty views mean absent members.
struct call_fragment {
    std::optional<std::int64_t> index; ///< Negative counts as absent.
    std::string_view id;
    std::string_view name;
    std::string_view arguments;
    /// The arguments may start or end in the middle of a character; see utf8_joiner.
    bool torn = false;
    /// Data that the server wants sent back with the call.
    const boost::json::object* extra_content = nullptr;
};

/// Assigns the fragments of a streamed answer to their calls and passes them on. Servers that
/// follow the dialect number their calls. It also accepts: no index or -1, the same index for every
/// call, a new index for every fragment of one call; ids that are missing, late or new in every
/// fragment; names that are late or repeated; the forms of arguments that argument_text takes;
/// fragments of several calls in any order. A second object after the arguments of a call is
/// another call of the same tool, unless it repeats the first.
///
/// The sink gets one call after the other: if a server interleaves several, the fragments of the
/// later ones wait. A call ends when the next one begins and its arguments are a whole object,
/// otherwise at the end of a complete answer. Text between fragments ends nothing.
class tool_call_assembler {
public:
    enum class status {
        ok,
        too_many_calls,
        too_many_bytes, ///< Arguments and data to be sent back exceed the limit.
        too_late,       ///< Arguments came for a call that has ended.
        nameless,       ///< A call has no name. Only finish() returns it.
    };

    explicit tool_call_assembler(model_sink& sink) : sink_(sink) {}

    [[nodiscard]] status add(const call_fragment& fragment);

    /// Passes on the fragments held back. If the answer is complete (`whole`), calls without
    /// arguments get `{}`. Called once, after the last fragment.
    [[nodiscard]] status finish(bool whole);

    /// The number of calls that have a name.
    [[nodiscard]] std::size_t count() const noexcept { return named_.size(); }
    [[nodiscard]] bool any() const noexcept { return !calls_.empty(); }

    /// True if every call's arguments are empty or an object whose brackets are closed.
    [[nodiscard]] bool none_cut() const noexcept;
    /// True if every call's arguments are an object whose brackets are closed.
    [[nodiscard]] bool all_whole() const noexcept;

private:
    struct call {
        std::optional<std::int64_t> index;
        std::string id;
        std::string name;
        argument_text arguments;
        utf8_joiner half;
        escape_mender escapes;
        std::optional<std::size_t> place; ///< Its index in named_ once it has a name.
        /// Index in calls_ of the call whose arguments this object followed. Without a place, this
        /// call may be a repetition of that one.
        std::optional<std::size_t> follows;
        bool announced = false; ///< The sink was told of the call.
        bool settled = false;   ///< The sink got the placeholder as its arguments.
        bool ended = false;     ///< The sink was told that it is complete.
        boost::json::object extra_content;
    };

    [[nodiscard]] call* find(const call_fragment& fragment);
    [[nodiscard]] static bool begins_anew(const call& known, const call_fragment& fragment);
    [[nodiscard]] bool followed_by_arguments(std::size_t place) const;
    [[nodiscard]] bool keep_extra(call& which, const call_fragment& fragment);
    [[nodiscard]] status
    take_arguments(std::size_t which, const call_fragment& fragment, std::string_view arguments);
    void give_place(std::size_t which);
    void place_follower(std::size_t which);
    void pass(call& which);
    void pass_in_order();

    model_sink& sink_;
    std::vector<call> calls_;        ///< In the order of their first fragments.
    std::vector<std::size_t> named_; ///< Indexes of calls_, in the order in which they got a name.
    std::size_t current_ = 0;        ///< Place of the call that is being passed to the sink.
    std::size_t argument_bytes_ = 0;
    std::string joined_; ///< Reused, so that a fragment allocates nothing.
    std::string mended_; ///< Reused like joined_.
};

} // namespace agui::runner
