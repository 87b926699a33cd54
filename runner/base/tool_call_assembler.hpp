#pragma once

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

/// The part of one chunk of a streamed answer that concerns one call. Empty views: absent.
struct call_fragment {
    std::optional<std::int64_t> index; ///< Negative counts as absent.
    std::string_view id;
    std::string_view name;
    std::string_view arguments;
    /// The arguments may start or end in the middle of a character; see utf8_joiner.
    bool torn = false;
    /// What the server wants sent back with the call.
    const boost::json::object* extra_content = nullptr;
};

/// Assigns the fragments of a streamed answer to their calls and passes them on. Servers that
/// follow the dialect number their calls. Also accepted are: no index or -1, the same index for
/// every call, a new index for every fragment of one call; ids that are missing, late or new in
/// every fragment; names that are late or repeated; `{}` as a placeholder before the arguments;
/// fragments of several calls in any order.
///
/// The sink gets one call after the other, each completed before the next: if a server interleaves
/// several, the fragments of the later ones wait. Arguments that stay empty become `{}` at the end.
class tool_call_assembler {
public:
    enum class status {
        ok,
        too_many_calls,
        too_many_bytes, ///< Of arguments, and of data to be sent back.
        /// Arguments have come for a call whose `{}` was already taken for its arguments.
        too_late,
        nameless, ///< Of finish() only: a call has no name.
    };

    explicit tool_call_assembler(model_sink& sink) : sink_(sink) {}

    [[nodiscard]] status add(const call_fragment& fragment);

    /// Passes on what was held back. To be called before anything but a call is delivered, to keep
    /// the order.
    void settle();

    /// Passes on what was held back; if the answer is complete (`whole`), also `{}` for calls
    /// without arguments. Called once, after the last fragment.
    [[nodiscard]] status finish(bool whole);

    /// The number of calls that have a name.
    [[nodiscard]] std::size_t count() const noexcept { return named_.size(); }
    [[nodiscard]] bool any() const noexcept { return !calls_.empty(); }

    /// True if every call's arguments are empty or an object whose brackets are closed.
    [[nodiscard]] bool all_closed() const noexcept;
    /// True if every call's arguments are an object whose brackets are closed.
    [[nodiscard]] bool all_whole() const noexcept;

private:
    /// Follows the brackets of an object that arrives in pieces.
    class bracket_counter {
    public:
        void feed(std::string_view text) noexcept;
        [[nodiscard]] bool empty() const noexcept { return !begun_; }
        [[nodiscard]] bool closed() const noexcept { return begun_ && depth_ == 0; }

    private:
        std::int64_t depth_ = 0;
        bool begun_ = false;
        bool in_string_ = false;
        bool escaped_ = false;
    };

    struct call {
        std::optional<std::int64_t> index;
        std::string id;
        std::string name;
        std::string held;                 ///< Arguments that the sink has not got yet.
        std::optional<std::size_t> place; ///< Its index in named_, once it has a name.
        bool announced = false;           ///< The sink knows the call.
        bool blank = true;                ///< So far its arguments are only white space.
        bool emptied = false;             ///< The sink has got the placeholder as its arguments.
        bracket_counter brackets;
        utf8_joiner half;
        boost::json::object extra_content;
    };

    [[nodiscard]] call* find(const call_fragment& fragment);
    [[nodiscard]] static bool begins_anew(const call& known, const call_fragment& fragment);
    [[nodiscard]] static bool is_placeholder(std::string_view arguments) noexcept;
    [[nodiscard]] static bool complete(const call& which) noexcept;
    [[nodiscard]] bool followed_by_arguments(std::size_t place) const;
    [[nodiscard]] bool keep_extra(call& which, const call_fragment& fragment);
    void hold(call& which, std::string_view arguments);
    void pass(call& which);
    void pass_in_order();

    model_sink& sink_;
    std::vector<call> calls_;        ///< In the order of their first fragments.
    std::vector<std::size_t> named_; ///< Indexes of calls_, in the order in which they got a name.
    std::size_t current_ = 0;        ///< The place of the call that the sink is getting.
    std::size_t argument_bytes_ = 0;
};

} // namespace agui::runner
