#include "gateway/log/stream_form.hpp"

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

} // namespace

const stream_form& sse_form() noexcept {
    static const sse form;
    return form;
}

} // namespace agui::gateway
