#pragma once

#include "runner/anthropic/answer_blocks.hpp"
#include "runner/base/json_brackets.hpp"
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

/// Reads the blocks of an answer, passes them on to a model_sink as text, reasoning and calls, in
/// valid UTF-8, and records them (answer_blocks). For one answer; the sink must outlive it.
///
/// `index` is absent if the server did not send it, and then means the latest block, or with
/// start() a further one. `torn` means that the event was cut in the middle of a character.
class anthropic_block_reader {
public:
    explicit anthropic_block_reader(model_sink& sink) : sink_(sink) {}
    anthropic_block_reader(const anthropic_block_reader&) = delete;
    anthropic_block_reader& operator=(const anthropic_block_reader&) = delete;

    /// A block begins. Deltas of earlier blocks may still follow.
    void start(std::optional<std::int64_t> index, const boost::json::object& value, bool torn);
    void delta(std::optional<std::int64_t> index, const boost::json::object& value, bool torn);
    /// A block is over. A call whose arguments are whole may then be acted upon.
    void stop(std::optional<std::int64_t> index);

    /// Ends the answer. `complete` means that nothing was cut: calls without arguments get `{}`,
    /// and whole calls end. Other calls stay open.
    void finish(bool complete);
    /// Passes on the record of the blocks, unless it says nothing or the blocks cannot be sent back
    /// exactly as they came. Call it after finish(), for an answer that ended by itself.
    void hand_over_record();

    /// True if text, reasoning, a call or an opaque block came.
    [[nodiscard]] bool begun() const noexcept { return begun_; }
    [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
    /// True if every call's arguments are empty or an object whose brackets are closed.
    [[nodiscard]] bool none_cut() const noexcept;
    /// True while a block is open that may be silent for long.
    [[nodiscard]] bool may_be_silent() const noexcept;
    /// Why the answer cannot be used, a literal; empty if it can. Nothing is passed on after a
    /// problem.
    [[nodiscard]] std::string_view problem() const noexcept { return problem_; }

private:
    using kind = answer_blocks::block::kind;

    struct block {
        std::int64_t index = 0;
        bool open = true;
        answer_blocks::block record;
        utf8_joiner half;
        // Of a call:
        std::size_t call = 0;
        bool blank = true;       ///< No arguments came.
        bool ended = false;      ///< The sink was told that it is complete.
        std::string start_input; ///< Arguments that came with the start.
        object_text arguments;
        escape_mender escapes;
        std::string input; ///< The streamed input of another kind of block.
    };

    [[nodiscard]] block* find(std::optional<std::int64_t> index) noexcept;
    [[nodiscard]] block* add(std::optional<std::int64_t> index, kind what);
    [[nodiscard]] block* open_for(std::optional<std::int64_t> index, kind what);
    void start_call(block& which, const boost::json::object& value, bool torn);
    void keep_members(block& which, const boost::json::object& value, bool torn);
    void keep(block& which, std::string_view name, const boost::json::value& value, bool torn);
    void
    add_to_other(block& which, std::string_view type, const boost::json::object& value, bool torn);
    void say(block& which, std::string_view text, bool torn);
    void tell(block& which, std::string_view text);
    void argue(block& which, std::string_view text, bool torn);
    void pass_arguments(block& which, std::string_view text);
    void flush(block& which);
    void close(block& which);
    void end_call(block& which);
    void fail(std::string_view problem) noexcept;
    [[nodiscard]] bool count_bytes(std::size_t bytes) noexcept;

    model_sink& sink_;
    std::vector<block> blocks_; ///< In the order of their starts.
    text_hash text_;
    text_hash thoughts_;
    std::size_t calls_ = 0;
    std::size_t argument_bytes_ = 0;
    std::size_t member_bytes_ = 0;
    std::uint32_t changes_ = 0;    ///< Changes between text and reasoning.
    kind last_told_ = kind::other; ///< Text or thinking, once one of them came.
    bool begun_ = false;
    bool is_exact_ = true; ///< The blocks can be sent back as they came.
    std::string_view problem_;
    std::string joined_; ///< Reused, so that a delta allocates nothing.
    std::string mended_;
};

} // namespace agui::runner
