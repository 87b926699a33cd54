#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace agui::test {

/// One answer as it came over the wire.
struct raw_reply {
    int status = 0;
    std::map<std::string, std::string> headers; ///< Names in lower case.
    std::string body;                           ///< Without chunk framing.
    bool complete = false; ///< It ended as its framing says; false: the connection was lost first.

    [[nodiscard]] std::string header(const std::string& name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string() : found->second;
    }
};

/// A blocking connection that sends bytes exactly as told. A read that takes longer than a test's
/// patience ends as if the peer had closed.
class raw_client {
public:
    /// `receive_buffer`: about how many unread bytes the kernel holds; 0: its default.
    explicit raw_client(
        std::uint16_t port, int receive_buffer = 0, const char* address = "127.0.0.1"
    );
    ~raw_client();
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;

    /// False: the peer takes no more.
    bool send(std::string_view bytes);
    /// The head of the next answer (interim answers count), its body still to come.
    [[nodiscard]] raw_reply read_head();
    /// The next answer, whole. `without_body` for HEAD.
    [[nodiscard]] raw_reply read_reply(bool without_body = false);
    /// Reads raw bytes until they hold `text`. Returns them, `text` included; or all that came
    /// before the connection ended or patience did.
    [[nodiscard]] std::string read_until(std::string_view text);
    /// Reads until the peer ends the connection, or that often, `bytes` at a time with a pause
    /// after each; what was read is then there for read_body(). False: the peer has ended it.
    bool read_slowly(std::size_t bytes, std::chrono::milliseconds pause, int times = -1);
    /// The body that belongs to a head of read_head().
    void read_body(raw_reply& reply);
    /// True if the peer closes without sending another byte.
    [[nodiscard]] bool closed_by_peer();
    /// Waits, without reading, until the peer has aborted the connection, or until patience ends.
    void wait_for_reset() const;
    void close();
    /// Closes the sending side alone.
    void close_sending() const;

private:
    bool fill();
    [[nodiscard]] std::string take(std::size_t count);
    [[nodiscard]] std::string take_line();

    int socket_ = -1;
    std::string received_;
};

} // namespace agui::test
