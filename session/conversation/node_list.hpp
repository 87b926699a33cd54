#pragma once

#include "session/conversation/media_part.hpp"
#include "session/conversation/message.hpp"

#include "session/base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {

/// The messages of a thread form a tree. A message's number is its index in thread_record::nodes:
/// dense from 0 and never reused.
using node_index = std::uint32_t;
inline constexpr node_index no_node = 0xffffffffU;

struct stored_message {
    node_index parent = no_node; ///< The message before it; no_node for a first message.
    std::string run_id;          ///< The run whose request brought it, or which made it.
    unix_ms created_at = 0;
    session::message message;
};

/// The digest of one part of a message, and its place in the content.
struct placed_digest {
    std::size_t part = 0; ///< 0 also for a content that is a string.
    part_digest digest;
};

/// The messages of a thread, by number. Messages never change, so copies of the list share them: a
/// copy costs a pointer per message, however long the messages are. Different threads of execution
/// may use different copies at the same time.
class node_list {
    struct held {
        explicit held(stored_message given) : node(std::move(given)) {}

        stored_message node;
        mutable std::once_flag data_hashed;
        mutable std::once_flag texts_hashed;
        mutable std::vector<placed_digest> data;
        mutable std::vector<placed_digest> texts;
    };
    using pointers = std::vector<std::shared_ptr<const held>>;

public:
    using value_type = stored_message;

    class const_iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = stored_message;
        using difference_type = std::ptrdiff_t;
        using pointer = const stored_message*;
        using reference = const stored_message&;

        const_iterator() = default;
        explicit const_iterator(pointers::const_iterator at) : at_(at) {}
        reference operator*() const { return (*at_)->node; }
        pointer operator->() const { return &(*at_)->node; }
        const_iterator& operator++() {
            ++at_;
            return *this;
        }
        const_iterator operator++(int) { return const_iterator(at_++); }
        friend bool operator==(const const_iterator&, const const_iterator&) = default;

    private:
        pointers::const_iterator at_;
    };

    node_list() = default;
    node_list(std::initializer_list<stored_message> given) {
        for (const stored_message& node : given) {
            push_back(node);
        }
    }
    explicit node_list(std::vector<stored_message> given) {
        nodes_.reserve(given.size());
        for (stored_message& node : given) {
            push_back(std::move(node));
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
    [[nodiscard]] const stored_message& operator[](std::size_t number) const {
        return nodes_[number]->node;
    }
    /// Throws std::out_of_range.
    [[nodiscard]] const stored_message& at(std::size_t number) const {
        return nodes_.at(number)->node;
    }
    [[nodiscard]] const stored_message& back() const { return nodes_.back()->node; }
    [[nodiscard]] const_iterator begin() const { return const_iterator(nodes_.begin()); }
    [[nodiscard]] const_iterator end() const { return const_iterator(nodes_.end()); }

    void push_back(stored_message node) {
        nodes_.push_back(std::make_shared<held>(std::move(node)));
    }
    /// Appends the messages of `more`, which both lists then share.
    void append(const node_list& more) {
        nodes_.insert(nodes_.end(), more.nodes_.begin(), more.nodes_.end());
    }
    /// Calls edit(stored_message&) for each message, in order. Messages that other lists share are
    /// copied first, so that those lists do not change.
    template <class Edit>
    void edit_each(Edit edit) {
        for (std::shared_ptr<const held>& each : nodes_) {
            stored_message node;
            if (each.use_count() > 1) {
                node = each->node;
            } else {
                // It was made as a non-const `held`.
                node = std::move(const_cast<held&>(*each).node);
            }
            edit(node);
            each = std::make_shared<held>(std::move(node));
        }
    }

    /// The digests of the parts of a message that hold bytes (data_part_of), in order. The first
    /// call for a message takes time proportional to these bytes. The result lives as long as the
    /// message, and all copies of the list share it.
    [[nodiscard]] const std::vector<placed_digest>& data_digests(std::size_t number) const;
    /// The same for its texts: the content that is a string, or the text parts.
    [[nodiscard]] const std::vector<placed_digest>& text_digests(std::size_t number) const;

private:
    pointers nodes_;
};

} // namespace agui::session
