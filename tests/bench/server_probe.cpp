#include "tests/bench/server_probe.hpp"

#include "tests/bench/clock.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <sys/resource.h>
#include <unistd.h>

namespace agui::bench {
namespace {

constexpr std::int64_t sample_pause_ns = 50 * ns_per_ms;
constexpr std::int64_t pause_over_cost = 20;

std::string proc_path(pid_t pid, std::string_view name) {
    return "/proc/" + std::to_string(pid) + "/" + std::string(name);
}

bool is_one_of(const std::vector<int>& cores, const std::string& label) {
    return std::any_of(cores.begin(), cores.end(), [&](int core) {
        return label == "cpu" + std::to_string(core);
    });
}

// The kernel counts this in ticks of 10 ms.
std::int64_t cpu_ns_of_ended_children(pid_t pid) {
    std::ifstream file(proc_path(pid, "stat"));
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(std::min(line.rfind(')'), line.size() - 1) + 1));
    std::string skipped;
    for (int field = 3; field < 16; ++field) { // The name was field 2.
        fields >> skipped;
    }
    std::int64_t user = 0;
    std::int64_t system = 0;
    fields >> user >> system;
    return (user + system) * ns_per_second / std::max(sysconf(_SC_CLK_TCK), 1L);
}

} // namespace

std::int64_t cpu_ns(pid_t pid) {
    std::error_code ec;
    std::filesystem::directory_iterator tasks(proc_path(pid, "task"), ec);
    if (ec) {
        throw std::runtime_error("process " + std::to_string(pid) + " is gone");
    }
    std::int64_t total = 0;
    for (const auto& task : tasks) {
        std::ifstream file(task.path() / "schedstat");
        std::int64_t on_cpu_ns = 0;
        if (file >> on_cpu_ns) {
            total += on_cpu_ns;
        }
    }
    return total;
}

std::int64_t cpu_ns_with_children(pid_t pid) {
    std::int64_t total = cpu_ns(pid) + cpu_ns_of_ended_children(pid);
    std::ifstream children(proc_path(pid, "task/" + std::to_string(pid) + "/children"));
    for (pid_t child = 0; children >> child;) {
        try {
            total += cpu_ns(child);
        } catch (const std::runtime_error&) {
            continue; // The thread has ended since it was listed.
        }
    }
    return total;
}

std::int64_t pss_kb(pid_t pid) {
    std::ifstream file(proc_path(pid, "smaps_rollup"));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("Pss:")) {
            return std::stoll(line.substr(4));
        }
    }
    throw std::runtime_error("no PSS of process " + std::to_string(pid));
}

std::int64_t descriptor_count(pid_t pid) {
    const std::filesystem::directory_iterator open(proc_path(pid, "fd"));
    return std::distance(begin(open), end(open));
}

core_times read_core_times(const std::vector<int>& cores) {
    const std::int64_t ticks_per_second = std::max(sysconf(_SC_CLK_TCK), 1L);
    std::ifstream file("/proc/stat");
    core_times total;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string label;
        std::int64_t user = 0, niced = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0;
        std::int64_t steal = 0;
        fields >> label;
        if (!is_one_of(cores, label) ||
            !(fields >> user >> niced >> system >> idle >> waiting >> irq >> softirq >> steal)) {
            continue;
        }
        total.busy_ms += (user + niced + system + irq + softirq) * 1'000 / ticks_per_second;
        total.steal_ms += steal * 1'000 / ticks_per_second;
    }
    return total;
}

pss_sampler::pss_sampler(pid_t pid) : pid_(pid) {
    result_.base_kb = pss_kb(pid);
    result_.peak_kb = result_.base_kb;
    thread_ = std::thread([this] { work(); });
}

pss_sampler::~pss_sampler() { join(); }

void pss_sampler::join() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

pss_sampler::result pss_sampler::stop() {
    join();
    if (!error_.empty()) {
        throw std::runtime_error(error_);
    }
    return result_;
}

std::int64_t pss_sampler::sample() {
    const std::int64_t started = now_ns();
    result_.peak_kb = std::max(result_.peak_kb, pss_kb(pid_));
    result_.descriptors = std::max(result_.descriptors, descriptor_count(pid_));
    const std::int64_t cost_ns = now_ns() - started;
    result_.samples += 1;
    result_.longest_sample_us = std::max(result_.longest_sample_us, cost_ns / ns_per_us);
    return std::max(sample_pause_ns, cost_ns * pause_over_cost);
}

void pss_sampler::work() {
    // Its priority is lower than that of the load generator on the same core, so a sample delays no
    // receive time.
    constexpr int lowest_priority = 19;
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), lowest_priority);
    try {
        std::unique_lock lock(mutex_);
        while (!stopping_) {
            lock.unlock();
            const std::int64_t pause_ns = sample();
            lock.lock();
            wake_.wait_for(lock, std::chrono::nanoseconds(pause_ns), [this] { return stopping_; });
        }
        sample();
    } catch (const std::exception& error) {
        error_ = error.what();
    }
}

} // namespace agui::bench
