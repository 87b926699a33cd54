#pragma once

#include "session/base/leb128.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace agui::translator {

/// The wire types of protobuf that AG-UI uses.
enum class wire_type : unsigned { varint = 0, fixed64 = 1, length_delimited = 2 };

/// Writes a protobuf message from its end to its beginning: fields in falling order, each after its
/// content. So the length of a nested message is known when it is written, whatever its depth, and
/// no byte is moved for it.
class reverse_writer {
public:
    /// The number of bytes written; also marks the end of a message to be written.
    [[nodiscard]] std::size_t size() const noexcept { return buffer_.size() - begin_; }
    [[nodiscard]] std::string_view bytes() const noexcept {
        return std::string_view(buffer_).substr(begin_);
    }

    void text_field(unsigned number, std::string_view text) {
        put(text);
        end_field(number, size() - text.size());
    }
    void varint_field(unsigned number, std::uint64_t value) {
        varint(value);
        tag(number, wire_type::varint);
    }
    void double_field(unsigned number, double value) {
        static_assert(std::endian::native == std::endian::little);
        char little[sizeof(value)];
        std::memcpy(little, &value, sizeof(value));
        put({little, sizeof(little)});
        tag(number, wire_type::fixed64);
    }
    /// Completes the field of a message that was written when size() was `mark`.
    void end_field(unsigned number, std::size_t mark) {
        varint(size() - mark);
        tag(number, wire_type::length_delimited);
    }

private:
    void tag(unsigned number, wire_type type) {
        varint(number << 3U | static_cast<unsigned>(type));
    }
    void varint(std::uint64_t value) {
        char digits[session::leb128_bytes_max];
        put({digits, session::write_leb128(digits, value)});
    }
    void put(std::string_view bytes) {
        if (bytes.size() > begin_) {
            grow(bytes.size());
        }
        begin_ -= bytes.size();
        std::memcpy(buffer_.data() + begin_, bytes.data(), bytes.size());
    }
    void grow(std::size_t bytes) {
        constexpr std::size_t least = 256;
        std::string larger(std::max(least, 2 * buffer_.size()) + bytes, '\0');
        const std::size_t begin = larger.size() - size();
        std::memcpy(larger.data() + begin, buffer_.data() + begin_, size());
        buffer_.swap(larger);
        begin_ = begin;
    }

    std::string buffer_;
    std::size_t begin_ = 0; ///< The bytes end with the buffer.
};

} // namespace agui::translator
