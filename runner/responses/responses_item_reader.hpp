#pragma once

#include "runner/provider/block_reader.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// Reads the items of an answer; see block_reader. A message is a block of text, a function call a
/// call, and anything else, reasoning too, is kept whole.
class responses_item_reader final : public block_reader {
public:
    /// Name of the record among the data of the turn.
    static constexpr std::string_view record_name = "responses";

    using block_reader::block_reader;
    using position = std::optional<std::int64_t>; ///< Absent if the server did not send it.

    [[nodiscard]] bool has_items() const noexcept { return any(); }
    /// The index that the latest item with this id got, if it began without one; otherwise absent.
    [[nodiscard]] position named(std::string_view id) const;

    void start(position index, const boost::json::object& item, bool torn);
    /// `part` is the part of the message.
    void text(position index, position part, std::string_view delta, bool torn);
    /// A part of a message is complete. Says its text if no delta came.
    void whole_text(position index, position part, std::string_view text, bool torn);
    /// `part` is the part of the reasoning; a paragraph in what is shown.
    void thought(position index, position part, std::string_view delta, bool torn);
    void arguments(position index, std::string_view delta, bool torn);
    /// The arguments are complete. Fails if they contradict what was streamed.
    void whole_arguments(position index, std::string_view arguments, bool torn);
    /// An item is complete. Passes on what did not come before.
    void done(position index, const boost::json::object& item, bool torn);
    /// The items of a server that streamed none of them.
    void whole(const boost::json::array& output, bool torn);

    /// Passes on the record of the items, unless it says nothing or the items cannot be sent back
    /// exactly as they came: then false. Call it after finish(), for an answer that ended by
    /// itself.
    [[nodiscard]] bool hand_over_record();

private:
    [[nodiscard]] block* item_for(position index, const boost::json::object& item, bool torn);
    void complete_message(block& which, const boost::json::object& item, bool torn);
    void complete_call(block& which, const boost::json::object& item, bool torn);
    void complete_thoughts(block& which, const boost::json::object& item, bool torn);
    void agree(block& which, std::string_view arguments, bool torn);

    /// The items that began without an index, by their ids.
    std::vector<std::pair<std::string, std::int64_t>> ids_;
};

} // namespace agui::runner
