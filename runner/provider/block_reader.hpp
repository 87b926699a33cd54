#pragma once

#include "runner/base/json_brackets.hpp"
#include "runner/base/json_escapes.hpp"
#include "runner/base/model_provider.hpp"
#include "runner/base/utf8.hpp"
#include "runner/provider/answer_blocks.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The blocks of an answer: passes them on to a model_sink as text, reasoning and calls, in valid
/// UTF-8, and records them (answer_blocks). A dialect derives from it and reads its own events. For
/// one answer; the sink must outlive it.
///
/// `index` is absent if the server did not send it, and then means the latest block, or with add()
/// a further one. `torn` means that the event was cut in the middle of a character.
class block_reader {
public:
    explicit block_reader(model_sink& sink) : sink_(sink) {}
    block_reader(const block_reader&) = delete;
    block_reader& operator=(const block_reader&) = delete;

    /// Ends the answer. `complete` means that nothing was cut: calls without arguments get `{}`,
    /// and whole calls end. Other calls stay open.
    void finish(bool complete);

    /// True if text, reasoning, a call, a hosted tool or an opaque block came.
    [[nodiscard]] bool begun() const noexcept { return begun_; }
    [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
    /// True if every call's arguments are empty or an object whose brackets are closed.
    [[nodiscard]] bool none_cut() const noexcept;
    /// True while a block is open that may be silent for long.
    [[nodiscard]] bool may_be_silent() const noexcept;
    /// Why the answer cannot be used, a literal; empty if it can. Nothing is passed on after a
    /// problem.
    [[nodiscard]] std::string_view problem() const noexcept { return problem_; }

protected:
    using kind = answer_blocks::block::kind;

    struct block {
        std::int64_t index = 0;
        bool open = true;
        bool sealed = false;    ///< Free for the dialect: its last event came.
        std::int64_t part = -1; ///< Free for the dialect: the part that its last text was for.
        answer_blocks::block record;
        utf8_joiner half;
        // Of a call:
        std::size_t call = 0;
        bool begun = false;      ///< The sink was told of it.
        bool blank = true;       ///< No arguments came.
        bool ended = false;      ///< The sink was told that it is complete.
        std::string start_input; ///< Arguments that came with the start.
        object_text arguments;
        escape_mender escapes;
        std::string input; ///< The streamed input of another kind of block.
    };

    /// The latest block of that index; null if there is none.
    [[nodiscard]] block* find(std::optional<std::int64_t> index) noexcept;
    [[nodiscard]] bool any() const noexcept { return !blocks_.empty(); }
    /// Null, with a problem, if there are too many blocks. Invalidates other blocks.
    [[nodiscard]] block* add(std::optional<std::int64_t> index, kind what);
    [[nodiscard]] block* open_for(std::optional<std::int64_t> index, kind what);
    void begin_call(block& which, std::string_view id, std::string_view name, bool torn);
    /// The server executes a tool of its own.
    void begin_hosted(std::string_view id, std::string_view name, bool torn);
    void end_hosted(std::string_view id, bool failed);
    /// The model goes on after the last call, if that is closed: it was not cut.
    void end_former_call();
    void keep(block& which, std::string_view name, const boost::json::value& value, bool torn);
    /// Passes on text or thoughts.
    void say(block& which, std::string_view text, bool torn);
    /// Passes on arguments.
    void argue(block& which, std::string_view text, bool torn);
    void close(block& which);
    void fail(std::string_view problem) noexcept;
    [[nodiscard]] bool count_bytes(std::size_t bytes) noexcept;
    /// The record of the blocks; nullopt if they cannot be sent back exactly as they came. Called
    /// after finish().
    [[nodiscard]] std::optional<answer_blocks> take_record();

    model_sink& sink_;
    bool begun_ = false;
    bool is_exact_ = true; ///< The blocks can be sent back as they came.

private:
    void tell(block& which, std::string_view text);
    void pass_arguments(block& which, std::string_view text);
    void flush(block& which);
    void end_call(block& which);

    std::vector<block> blocks_; ///< In the order of their starts.
    text_hash text_;
    text_hash thoughts_;
    std::size_t calls_ = 0;
    std::size_t argument_bytes_ = 0;
    std::size_t member_bytes_ = 0;
    std::uint32_t changes_ = 0;    ///< Changes between text and reasoning.
    kind last_told_ = kind::other; ///< Text or thinking, once one of them came.
    std::string_view problem_;
    std::string joined_; ///< Reused, so that a delta allocates nothing.
    std::string mended_;
};

} // namespace agui::runner
