#pragma once

#include "runner/provider/block_reader.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace agui::runner {

/// Reads the blocks of an answer; see block_reader.
class anthropic_block_reader final : public block_reader {
public:
    /// Name of the record among the data of the turn.
    static constexpr std::string_view record_name = "anthropic";

    using block_reader::block_reader;

    /// A block begins. Deltas of earlier blocks may still follow.
    void start(std::optional<std::int64_t> index, const boost::json::object& value, bool torn);
    void delta(std::optional<std::int64_t> index, const boost::json::object& value, bool torn);
    /// A block is over. A call whose arguments are whole may then be acted upon.
    void stop(std::optional<std::int64_t> index);

    enum class ending { whole, pause, cut };
    /// Passes on the record of the blocks, unless they cannot be sent back exactly as they came, or
    /// it says nothing and the answer is no pause. Call it after finish(), for an answer that ended
    /// by itself or was cut by a limit. False if they cannot.
    [[nodiscard]] bool hand_over_record(ending how);

private:
    void start_call(block& which, const boost::json::object& value, bool torn);
    void keep_members(block& which, const boost::json::object& value, bool torn);
    void
    add_to_other(block& which, std::string_view type, const boost::json::object& value, bool torn);
};

} // namespace agui::runner
