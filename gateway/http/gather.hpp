#pragma once

#include <boost/asio/buffer.hpp>

#include <array>
#include <cstddef>

namespace agui::gateway {

/// The buffers that one writev sends: a batch of events with the response head and chunk framing
/// around it, or a plain reply. A fixed array, because it is filled once per token. Does not own
/// the bytes.
class gather {
public:
    /// The response head, a chunk's head, a batch, its end, and the last chunk.
    static constexpr std::size_t max_size = 5;

    /// Fewer than max_size buffers may have been added since clear(). An empty one is skipped.
    void add(boost::asio::const_buffer buffer) noexcept {
        if (buffer.size() > 0) {
            buffers_[end_] = buffer;
            ++end_;
        }
    }
    void clear() noexcept { begin_ = end_ = 0; }
    /// Drops the first `bytes` of the remaining bytes.
    void consume(std::size_t bytes) noexcept {
        while (begin_ < end_ && bytes >= buffers_[begin_].size()) {
            bytes -= buffers_[begin_].size();
            ++begin_;
        }
        if (bytes > 0) {
            buffers_[begin_] += bytes;
        }
    }
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    /// The number of remaining bytes.
    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = begin_; i < end_; ++i) {
            sum += buffers_[i].size();
        }
        return sum;
    }
    [[nodiscard]] const boost::asio::const_buffer* begin() const noexcept {
        return buffers_.data() + begin_;
    }
    [[nodiscard]] const boost::asio::const_buffer* end() const noexcept {
        return buffers_.data() + end_;
    }

private:
    std::array<boost::asio::const_buffer, max_size> buffers_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

} // namespace agui::gateway
