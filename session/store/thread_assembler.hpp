#pragma once

#include "session/store/stored_rows.hpp"

#include "session/base/log.hpp"
#include "session/conversation/thread.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::session {

/// Makes a thread of its rows. Throws std::runtime_error for rows that do not form one.
///
/// A message that cannot be read is left out of every branch: those after it follow the message
/// before it. An empty activity message, which is in no branch, takes its number.
struct thread_assembler {
    /// The next message: number, parent, run_id, created_at, message
    template <class Row>
    void add(const Row& row, agui::logger& log) {
        if (row.integer(0) != static_cast<std::int64_t>(record.nodes.size())) {
            throw std::runtime_error("a message of the thread is missing");
        }
        add(columns_of(row), row.text(4), log);
    }
    /// Begins with the first messages of the thread, which were read before; the next one to add
    /// comes after them.
    void begin_with(const node_list& known) {
        record.nodes = known;
        left_out_.assign(known.size(), false);
    }
    /// True if the row, as in add(), has the same message as the last of `known`.
    template <class Row>
    [[nodiscard]] bool ends_in(const node_list& known, const Row& row, agui::logger& log) const {
        return is_same(columns_of(row), row.text(4), known.back(), log);
    }
    /// True once all messages were added; the record is then complete.
    [[nodiscard]] bool finish();
    [[nodiscard]] bool has_left_out() const noexcept {
        return std::ranges::find(left_out_, true) != left_out_.end();
    }

    std::size_t message_count = 0; ///< As the row of the thread says.
    thread_record record;          ///< The rest of it comes from the caller.

private:
    template <class Row>
    [[nodiscard]] static stored_message columns_of(const Row& row) {
        stored_message node;
        node.parent = node_at(row, 1);
        node.run_id = row.text(2);
        node.created_at = row.integer(3);
        return node;
    }
    [[nodiscard]] bool is_same(
        stored_message node, std::string_view text, const stored_message& known, agui::logger& log
    ) const;
    void add(stored_message&& node, std::string_view text, agui::logger& log);
    [[nodiscard]] node_index kept(node_index node) const;

    std::vector<bool> left_out_; ///< By message number; true if the message cannot be read.
};

} // namespace agui::session
