#include "gateway/log/stream_form.hpp"

#include "translator/protobuf/event_encoder.hpp"

#include <array>
#include <charconv>

namespace agui::gateway {

namespace {

class sse final : public stream_form {
public:
    [[nodiscard]] std::string_view content_type() const noexcept override {
        return "text/event-stream; charset=utf-8";
    }

    void begin_event(std::uint64_t sequence, std::string& out) const override {
        if (sequence == 0) {
            out.append("data: ");
            return;
        }
        std::array<char, 20> digits{}; // Holds every 64-bit number.
        const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), sequence).ptr;
        out.append("id: ")
            .append(digits.data(), static_cast<std::size_t>(end - digits.data()))
            .append("\ndata: ");
    }

    void end_event(std::size_t, std::string& out) const override { out.append("\n\n"); }

    [[nodiscard]] std::size_t bytes_around() const noexcept override { return 16; }

    [[nodiscard]] std::string_view heartbeat() const noexcept override {
        return ": keep-alive\n\n";
    }
    [[nodiscard]] std::string_view cut_off_note() const noexcept override {
        return ": cut off: too far behind; read on from the last id\n\n";
    }
};

class protobuf final : public stream_form {
public:
    [[nodiscard]] std::string_view content_type() const noexcept override {
        return protobuf_content_type;
    }

    void begin_event(std::uint64_t, std::string& out) const override {
        out.append(length_bytes, '\0'); // Known only at the end of the event.
    }

    void end_event(std::size_t json_at, std::string& out) const override {
        translator::encode_event(out, json_at);
        std::size_t length = out.size() - json_at;
        for (std::size_t at = json_at; at > json_at - length_bytes; length >>= 8U) {
            out[--at] = static_cast<char>(length & 0xFFU);
        }
    }

    [[nodiscard]] std::size_t bytes_around() const noexcept override { return length_bytes; }

    [[nodiscard]] std::string_view heartbeat() const noexcept override { return {}; }
    [[nodiscard]] std::string_view cut_off_note() const noexcept override { return {}; }

private:
    static constexpr std::size_t length_bytes = 4;
};

} // namespace

const stream_form& protobuf_form() noexcept {
    static const protobuf form;
    return form;
}

const stream_form& sse_form() noexcept {
    static const sse form;
    return form;
}

} // namespace agui::gateway
