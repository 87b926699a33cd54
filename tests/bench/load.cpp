// bench-load: opens paced streams against one target, checks every token of every stream and prints
// one JSON line: CPU of the server per token, latency per token, growth of the server's PSS.

#include "tests/bench/arguments.hpp"
#include "tests/bench/clock.hpp"
#include "tests/bench/event_checker.hpp"
#include "tests/bench/round.hpp"
#include "tests/bench/server_probe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <sys/prctl.h>

namespace agui::bench {
namespace {

struct options {
    round_plan plan;
    std::int64_t settle_ns = 0;
    pid_t server_pid = 0;
    pid_t second_pid = 0; // the server at the plan's second port
    pid_t mock_pid = 0;
    pid_t database_pid = 0; // the first process of the server behind the server
    std::vector<int> cores;
};

void parse_url(const std::string& url, round_plan& parsed) {
    constexpr std::string_view scheme = "http://";
    const std::size_t colon = url.find(':', scheme.size());
    const std::size_t slash = url.find('/', scheme.size());
    in_addr ignored{};
    if (!url.starts_with(scheme) || slash == std::string::npos || colon > slash) {
        throw usage_error("--url must look like http://127.0.0.1:PORT/PATH");
    }
    parsed.host = url.substr(scheme.size(), colon - scheme.size());
    parsed.path = url.substr(slash);
    const std::int64_t port = std::strtol(url.c_str() + colon + 1, nullptr, 10);
    if (port < 1 || port > 65'535 || inet_pton(AF_INET, parsed.host.c_str(), &ignored) != 1) {
        throw usage_error("--url needs a numeric IPv4 address and a port");
    }
    parsed.port = static_cast<std::uint16_t>(port);
}

stream_kind parse_kind(std::string_view name) {
    if (name == "openai") {
        return stream_kind::openai;
    }
    if (name == "agui") {
        return stream_kind::agui;
    }
    if (name == "fanout") {
        return stream_kind::fanout;
    }
    if (name == "pairs") {
        return stream_kind::pairs;
    }
    if (name == "chat") {
        return stream_kind::chat;
    }
    if (name == "chat-full") {
        return stream_kind::chat_full;
    }
    if (name == "protobuf") {
        return stream_kind::protobuf;
    }
    throw usage_error("--kind must be openai, agui, fanout, pairs, chat, chat-full or protobuf");
}

std::vector<int> parse_cores(std::string_view list) {
    std::vector<int> cores;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        cores.push_back(std::stoi(std::string(list.substr(0, comma))));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return cores;
}

options parse_options(int argc, char** argv) {
    const arguments given(
        argc, argv,
        {"--lockstep", "--url", "--kind", "--streams", "--tokens", "--interval-ms", "--spread-ms",
         "--settle-ms", "--delay-ms", "--mark", "--history", "--history-bytes", "--server-pid",
         "--mock-pid", "--database-pid", "--reader-port", "--second-port", "--second-pid",
         "--cores"}
    );
    options parsed;
    parse_url(given.text("--url", ""), parsed.plan);
    constexpr number_range pid_range{0, 4'194'304};
    parsed.plan.kind = parse_kind(given.text("--kind", ""));
    parsed.plan.streams = given.number("--streams", 200, {1, 20'000});
    parsed.plan.tokens = given.number("--tokens", 100, {1, 1'000'000});
    parsed.plan.interval_ms = given.number("--interval-ms", 20, {1, 60'000});
    parsed.plan.spread_ns = given.number("--spread-ms", 2'000, {0, 600'000}) * ns_per_ms;
    parsed.plan.lockstep = given.number("--lockstep", 0, {0, 1}) == 1;
    parsed.plan.delay_ns = given.number("--delay-ms", 0, {0, 600'000}) * ns_per_ms;
    parsed.plan.reader_port =
        static_cast<std::uint16_t>(given.number("--reader-port", 0, {0, 65'535}));
    parsed.plan.second_port =
        static_cast<std::uint16_t>(given.number("--second-port", 0, {0, 65'535}));
    parsed.plan.mark = given.text("--mark", "");
    parsed.plan.history = given.number("--history", 0, {0, 100'000});
    parsed.plan.history_bytes = given.number("--history-bytes", 1024, {1, 1'000'000});
    parsed.settle_ns = given.number("--settle-ms", 300, {0, 60'000}) * ns_per_ms;
    parsed.server_pid = static_cast<pid_t>(given.number("--server-pid", 0, pid_range));
    parsed.second_pid = static_cast<pid_t>(given.number("--second-pid", 0, pid_range));
    parsed.mock_pid = static_cast<pid_t>(given.number("--mock-pid", 0, pid_range));
    parsed.database_pid = static_cast<pid_t>(given.number("--database-pid", 0, pid_range));
    parsed.cores = parse_cores(given.text("--cores", ""));
    return parsed;
}

// The value that a share of `part` (0 to 1) of all values does not exceed.
std::int64_t quantile(std::vector<std::int64_t>& values, double part) {
    const auto last = static_cast<double>(values.size() - 1);
    const auto at = static_cast<std::ptrdiff_t>(std::lround(part * last));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

std::int64_t own_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * ns_per_second + time.tv_nsec;
}

// All values that are read before and after a round.
struct reading {
    std::int64_t at_ns = 0;
    std::int64_t server_ns = 0; // of both servers
    std::int64_t second_ns = 0;
    std::int64_t mock_ns = 0;
    std::int64_t database_ns = 0;
    std::int64_t load_ns = 0;
    core_times cores;
};

reading read_all(const options& opt) {
    return {
        .at_ns = now_ns(),
        .server_ns = (opt.server_pid != 0 ? cpu_ns(opt.server_pid) : 0) +
                     (opt.second_pid != 0 ? cpu_ns(opt.second_pid) : 0),
        .second_ns = opt.second_pid != 0 ? cpu_ns(opt.second_pid) : 0,
        .mock_ns = opt.mock_pid != 0 ? cpu_ns(opt.mock_pid) : 0,
        .database_ns = opt.database_pid != 0 ? cpu_ns_with_children(opt.database_pid) : 0,
        .load_ns = own_cpu_ns(),
        .cores = read_core_times(opt.cores),
    };
}

double us(std::int64_t ns) { return static_cast<double>(ns) / static_cast<double>(ns_per_us); }

class json_line {
public:
    void add(const char* name, double value) {
        std::array<char, 64> text{};
        std::snprintf(text.data(), text.size(), "%.3f", value);
        add_raw(name, text.data());
    }
    void add(const char* name, std::int64_t value) { add_raw(name, std::to_string(value)); }
    void print() const { std::printf("{%s}\n", members_.c_str()); }

private:
    void add_raw(const char* name, const std::string& value) {
        members_.append(members_.empty() ? "\"" : ",\"").append(name).append("\":").append(value);
    }

    std::string members_;
};

void add_pairs(json_line& line, pair_times times) {
    if (times.attach_ns.empty() || times.latency_ns.empty()) {
        return;
    }
    line.add("readers", static_cast<std::int64_t>(times.attach_ns.size()));
    line.add("attach_p50_us", us(quantile(times.attach_ns, 0.50)));
    line.add("attach_p99_us", us(quantile(times.attach_ns, 0.99)));
    line.add("reader_p50_us", us(quantile(times.latency_ns, 0.50)));
    line.add("reader_p99_us", us(quantile(times.latency_ns, 0.99)));
    line.add("late_readers", times.late_readers);
}

// Memory and descriptors of both servers together, and of the second one if there is one.
struct peaks {
    pss_sampler::result all;
    std::optional<pss_sampler::result> second;
};

void report(
    const options& opt, const round_runner& round, token_times& times, const reading& before,
    const reading& after, const std::optional<peaks>& memory
) {
    const auto tokens = static_cast<std::int64_t>(times.latency_ns.size());
    const auto per_token = [&](std::int64_t ns) {
        return us(ns) / static_cast<double>(tokens);
    };
    json_line line;
    line.add("streams", opt.plan.streams);
    line.add("open_peak", round.open_peak());
    line.add("tokens", tokens);
    line.add("seconds", us(after.at_ns - before.at_ns) / 1e6);
    line.add(
        "tokens_per_receive", static_cast<double>(tokens) / static_cast<double>(round.receives())
    );
    line.add(
        "bytes_per_token", static_cast<double>(round.received_bytes()) / static_cast<double>(tokens)
    );
    line.add("latency_p50_us", us(quantile(times.latency_ns, 0.50)));
    line.add("latency_p99_us", us(quantile(times.latency_ns, 0.99)));
    line.add("latency_max_us", us(quantile(times.latency_ns, 1.0)));
    std::vector<std::int64_t> first_events = round.first_event_ns();
    line.add("first_event_p50_us", us(quantile(first_events, 0.50)));
    add_pairs(line, round.pairs());
    line.add("mock_late_p99_us", us(quantile(times.mock_late_ns, 0.99)));
    line.add("load_cpu_us_per_token", per_token(after.load_ns - before.load_ns));
    if (opt.mock_pid != 0) {
        // Load while all streams are open. The load generator and the model share one core, so
        // above 100 % they could not keep up.
        const double tokens_per_second =
            static_cast<double>(opt.plan.streams) * 1e3 / static_cast<double>(opt.plan.interval_ms);
        const std::int64_t harness_ns =
            after.load_ns - before.load_ns + after.mock_ns - before.mock_ns;
        line.add("harness_percent_at_peak", per_token(harness_ns) * tokens_per_second / 1e4);
        line.add("mock_cpu_us_per_token", per_token(after.mock_ns - before.mock_ns));
    }
    if (opt.server_pid != 0) {
        line.add("cpu_us_per_token", per_token(after.server_ns - before.server_ns));
    }
    if (opt.database_pid != 0) {
        line.add("database_us_per_token", per_token(after.database_ns - before.database_ns));
    }
    if (opt.second_pid != 0) {
        line.add("second_cpu_us_per_token", per_token(after.second_ns - before.second_ns));
    }
    if (memory) {
        const pss_sampler::result& all = memory->all;
        const std::int64_t growth_kb = all.peak_kb - all.base_kb;
        line.add("pss_base_kb", all.base_kb);
        line.add("pss_peak_kb", all.peak_kb);
        line.add("descriptors", all.descriptors);
        if (memory->second) {
            line.add("second_pss_base_kb", memory->second->base_kb);
            line.add("second_pss_peak_kb", memory->second->peak_kb);
            line.add("second_descriptors", memory->second->descriptors);
        }
        line.add(
            "kb_per_stream", static_cast<double>(growth_kb) / static_cast<double>(round.open_peak())
        );
        line.add("pss_samples", all.samples);
        line.add("pss_sample_max_us", all.longest_sample_us);
    }
    if (!opt.cores.empty()) {
        // Counting one process twice (the mock as its own server) would hide noise.
        const std::int64_t own_ns =
            (opt.server_pid != opt.mock_pid ? after.server_ns - before.server_ns : 0) +
            after.second_ns - before.second_ns + after.mock_ns - before.mock_ns + after.load_ns -
            before.load_ns + after.database_ns - before.database_ns;
        const std::int64_t busy_ns = (after.cores.busy_ms - before.cores.busy_ms) * ns_per_ms;
        const std::int64_t all_ns =
            (after.at_ns - before.at_ns) * static_cast<std::int64_t>(opt.cores.size());
        const auto percent = [&](std::int64_t ns) {
            return 100.0 * static_cast<double>(ns) / static_cast<double>(all_ns);
        };
        line.add("foreign_cpu_percent", percent(std::max<std::int64_t>(busy_ns - own_ns, 0)));
        line.add(
            "steal_percent", percent((after.cores.steal_ms - before.cores.steal_ms) * ns_per_ms)
        );
    }
    line.print();
}

void measure(const options& opt) {
    token_times times;
    const auto expected = static_cast<std::size_t>(opt.plan.streams * opt.plan.tokens);
    times.latency_ns.reserve(expected);
    times.mock_late_ns.reserve(expected);
    round_runner round(opt.plan, times);
    const reading before = read_all(opt);
    std::optional<peaks> memory;
    if (opt.server_pid != 0) {
        pss_sampler sampler(opt.server_pid);
        std::optional<pss_sampler> second;
        if (opt.second_pid != 0) {
            second.emplace(opt.second_pid);
        }
        round.run();
        // The server's work for the runs after their last byte belongs to the cost of the tokens.
        const timespec settle = to_timespec(opt.settle_ns);
        nanosleep(&settle, nullptr);
        memory = {sampler.stop(), std::nullopt};
        if (second) {
            memory->second = second->stop();
            memory->all.base_kb += memory->second->base_kb;
            memory->all.peak_kb += memory->second->peak_kb; // Both peak at about the same time.
            memory->all.descriptors += memory->second->descriptors;
        }
    } else {
        round.run();
    }
    report(opt, round, times, before, read_all(opt), memory);
}

constexpr const char* usage =
    "usage: bench-load --url http://127.0.0.1:PORT/PATH --kind "
    "openai|agui|fanout|pairs|chat|chat-full|protobuf\n"
    "  [--streams 200] [--tokens 100] [--interval-ms 20] [--spread-ms 2000] [--delay-ms 0]\n"
    "  [--lockstep 0|1] [--mark TEXT] [--history 0] [--history-bytes 1024]\n"
    "  [--settle-ms 300] [--server-pid PID] [--mock-pid PID] [--database-pid PID]\n"
    "  [--reader-port PORT] [--second-port PORT --second-pid PID] [--cores 0,1]\n";

} // namespace
} // namespace agui::bench

int main(int argc, char** argv) {
    try {
        const agui::bench::options opt = agui::bench::parse_options(argc, argv);
        // The default slack of 50 us would bend the start times of the streams.
        prctl(PR_SET_TIMERSLACK, 1UL);
        agui::bench::measure(opt);
        return 0;
    } catch (const agui::bench::usage_error& error) {
        std::fprintf(stderr, "bench-load: %s\n%s", error.what(), agui::bench::usage);
        return 2;
    } catch (const agui::bench::void_round& error) {
        std::fprintf(stderr, "bench-load: void round: %s\n", error.what());
        return 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench-load: %s\n", error.what());
        return 1;
    }
}
