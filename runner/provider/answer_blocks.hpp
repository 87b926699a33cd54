#pragma once

#include "session/conversation/message.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Hash of a text that arrives in pieces (FNV-1a, 64 bits). It finds changes, not forgery.
class text_hash {
public:
    void add(std::string_view piece) noexcept {
        for (const char c : piece) {
            value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        }
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// The blocks of one answer in the order in which the model made them, for sending them back in
/// place and unchanged. Text, thoughts and calls are stored with the answer's messages, so a block
/// holds only their lengths; the hashes tell whether the messages are still the same. Stored as
/// data of the turn (model_sink::on_turn_data) under a name of the dialect: an object, so that
/// session::without_thoughts() drops it.
struct answer_blocks {
    struct block {
        enum class kind {
            text,     ///< `bytes` of the answer's text.
            thinking, ///< `bytes` of the answer's thoughts, which may be 0.
            call,     ///< The next call of the answer.
            other,    ///< `members` is the whole block.
        };
        kind what = kind::text;
        std::size_t bytes = 0;
        /// Members besides the ones that are stored elsewhere.
        boost::json::object members;
    };

    std::vector<block> list;
    std::uint64_t text = 0;     ///< text_hash of the answer's text.
    std::uint64_t thoughts = 0; ///< text_hash of its thoughts.

    /// True if the blocks are one text and then calls, without other members: the messages say the
    /// same without a record. Unsigned thoughts do not count.
    [[nodiscard]] bool is_plain() const noexcept;
};

[[nodiscard]] boost::json::object to_json(const answer_blocks& value);
/// Reads the output of to_json(); nullopt for anything else.
[[nodiscard]] std::optional<answer_blocks> answer_blocks_from_json(const boost::json::value* value);

/// A block with the parts of the messages that it stands for. Views and pointers live as long as
/// the messages, the origin and the texts that it was made from.
struct placed_block {
    answer_blocks::block::kind what = answer_blocks::block::kind::text;
    std::string_view text;                    ///< text, thinking
    const session::tool_call* call = nullptr; ///< call
    const boost::json::object* members = nullptr;
};

/// Puts the recorded blocks and the stored answer together. `text` and `thoughts` are the texts of
/// the answer's messages. Empty if they do not fit together, because a plugin or an edit changed
/// the answer: signed thoughts must then stay away.
[[nodiscard]] std::vector<placed_block> place_blocks(
    const answer_blocks& record, const session::message& answer, std::string_view text,
    std::string_view thoughts
);

/// The blocks of an answer without a record: its text, which may be blank, and its calls.
[[nodiscard]] std::vector<placed_block>
plain_blocks(const session::message& answer, std::string_view text);

/// Appends members after another member: `,"name":value` each; nothing if `members` is null.
void append_members(std::string& out, const boost::json::object* members);

} // namespace agui::runner
