#pragma once

#include "tests/bench/event_checker.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace agui::bench {

// Thrown when a round does not count: a stream that was cut, doubled, out of order or too late.
class void_round : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum class stream_kind {
    openai, // every stream is a separate Chat Completions request
    agui,   // every stream is a separate AG-UI run
    fanout, // one AG-UI run: the first stream starts it, the others read its events from the first
    pairs,  // every second stream reads the run of the one before it, from its first event on
    chat,   // every stream is a run of its own, read as a chat stream in incremental mode
    chat_full, // the same in full mode
    protobuf,  // as agui, read as protobuf
};

// The kind, number and pace of a round's streams.
struct round_plan {
    std::string host; // numeric IPv4
    std::uint16_t port = 0;
    // port of the readers of a fanout or of pairs, on the same host; 0 means `port`
    std::uint16_t reader_port = 0;
    std::uint16_t second_port = 0; // port of every second stream, on the same host; 0 means `port`
    std::string path;
    stream_kind kind = stream_kind::openai;
    std::int64_t streams = 0;
    std::int64_t tokens = 0;
    std::int64_t interval_ms = 0;
    std::int64_t spread_ns = 0; // over which the starts are spread
    // part of the names of threads and runs; with the mark of an earlier round, its threads
    // continue
    std::string mark;
    // messages that each request of an AG-UI run brings before its own,
    std::int64_t history = 0;
    std::int64_t history_bytes = 0; // of so many bytes each
    bool lockstep = false;          // tokens of all streams at the same moments
    std::int64_t delay_ns = 0;      // from a request to its first token; over the spread for fanout
};

// Times of the second streams of pairs beside those of the first ones, which started the runs.
struct pair_times {
    std::vector<std::int64_t> attach_ns; // from a reader's connection to its first event
    // latencies of the tokens that the model made after that
    std::vector<std::int64_t> latency_ns;
    std::int64_t late_readers = 0; // got one of them 50 ms later than the first stream, or more
};

// Opens the streams of a plan at their start times and reads them all to their ends, checking every
// token. The readers of a fanout come once its run has begun, and all of them must be attached
// before its first token, so that none catches up. Blocking, on the caller's thread, with one
// connection a stream.
class round_runner {
public:
    // The times outlive the runner.
    round_runner(const round_plan& plan, token_times& times);
    ~round_runner();
    round_runner(const round_runner&) = delete;
    round_runner& operator=(const round_runner&) = delete;

    // Throws void_round at the first fault, at the latest 30 s after the plan's end.
    void run();

    // The most streams that were open at a time.
    [[nodiscard]] std::int64_t open_peak() const;
    // The number of reads from sockets that gave bytes.
    [[nodiscard]] std::int64_t receives() const;
    // The number of bytes read from sockets.
    [[nodiscard]] std::int64_t received_bytes() const;
    // For each stream, the time from its connection to its first event. To be called after run().
    [[nodiscard]] std::vector<std::int64_t> first_event_ns() const;
    [[nodiscard]] pair_times pairs() const;

private:
    class state;
    token_times& times_;
    std::unique_ptr<state> state_;
};

} // namespace agui::bench
