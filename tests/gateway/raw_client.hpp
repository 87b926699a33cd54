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
    std::string body;                           ///< The body without chunk framing.
    /// True if the body ended as its framing says, false if the connection was lost before.
    bool complete = false;

    [[nodiscard]] std::string header(const std::string& name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string() : found->second;
    }
};

/// A receive buffer that is so small that unread bytes stay in the server.
inline constexpr int small_window = 4096;

/// A blocking connection that sends bytes exactly as given. A read that takes longer than a test's
/// patience ends as if the peer had closed.
class raw_client {
public:
    /// `receive_buffer` is about the number of unread bytes that the kernel holds; 0 means its
    /// default.
    explicit raw_client(
        std::uint16_t port, int receive_buffer = 0, const char* address = "127.0.0.1"
    );
    ~raw_client();
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;

    /// Returns false if the peer takes no more bytes.
    bool send(std::string_view bytes);
    /// The head of the next answer, which may be an interim one. Its body is not read yet.
    [[nodiscard]] raw_reply read_head();
    /// The next answer, whole. `without_body` is for HEAD.
    [[nodiscard]] raw_reply read_reply(bool without_body = false);
    /// Reads raw bytes until they contain `text`. Returns them, `text` included, or all bytes that
    /// came before the connection or the patience ended.
    [[nodiscard]] std::string read_until(std::string_view text);
    /// Reads `bytes` at a time with a pause after each read, until the peer ends the connection or
    /// for so many `times`. read_body() then returns these bytes. Returns false if the peer has
    /// ended the connection.
    bool read_slowly(std::size_t bytes, std::chrono::milliseconds pause, int times = -1);
    /// The body that follows a head of read_head().
    void read_body(raw_reply& reply);
    /// Returns the bytes of one recv(2): on loopback at least the peer's next write, up to 16 KB.
    [[nodiscard]] std::string read_once();
    /// Returns true if the peer closes without sending another byte.
    [[nodiscard]] bool closed_by_peer();
    /// Waits, without reading, until the peer aborts the connection, or until the patience ends.
    void wait_for_reset() const;
    void close();
    /// Closes the sending side only.
    void close_sending() const;

private:
    bool fill();
    [[nodiscard]] std::string take(std::size_t count);
    [[nodiscard]] std::string take_line();

    int socket_ = -1;
    std::string received_;
};

} // namespace agui::test
