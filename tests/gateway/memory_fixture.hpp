#pragma once

#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace agui::test {

inline constexpr std::size_t mib = 1U << 20U;

/// A server whose requests, logs and replies share that much memory.
class memory_test : public server_test {
protected:
    explicit memory_test(std::size_t bytes) { settings.server.max_memory_bytes = bytes; }

    /// A connection that has announced a body and sent the first `sent` bytes of it.
    [[nodiscard]] std::unique_ptr<raw_client>
    announced(std::size_t length, std::size_t sent, std::string_view headers = {}) const {
        auto client = std::make_unique<raw_client>(port());
        client->send(
            "POST /agui HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
            std::string(headers) + "Content-Length: " + std::to_string(length) + "\r\n\r\n"
        );
        client->send(std::string(sent, ' '));
        return client;
    }
    /// A connection that has sent most of such a body.
    [[nodiscard]] std::unique_ptr<raw_client>
    unfinished(std::size_t bytes, std::string_view headers = {}) const {
        return announced(bytes + 65'536, bytes, headers);
    }
    /// Waits until the memory in use is within these bounds.
    void wait_for_memory(std::size_t least, std::size_t most) const {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (server->memory_used() < least || server->memory_used() > most) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << server->memory_used();
            std::this_thread::yield();
        }
    }
    /// An answer of that many bytes in pieces of 64 KiB, and then its end, or nothing.
    void answer_at_length(std::size_t bytes, bool ends) {
        constexpr std::size_t piece = 65'536;
        const std::string frame = say_and_stall(std::string(piece, 'x')).body;
        answer = ends ? say("Hello") : say_and_stall("Hello");
        std::string text;
        for (std::size_t i = 0; i < bytes / piece; ++i) {
            text += frame;
        }
        answer.body.insert(0, text);
        // As from a model server, the pieces come one by one.
        answer.pace = std::chrono::milliseconds(1);
        if (!ends) {
            answer.stall_after_frames = bytes / piece + 1;
        }
    }
};

} // namespace agui::test
