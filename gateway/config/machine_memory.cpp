#include "gateway/config/machine_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace agui::gateway {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
// Used if even the machine's memory cannot be read.
constexpr std::size_t assumed = std::size_t{2} << 30U;

/// The number at the start of `text`; unlimited for "max" and everything else.
std::size_t number_in(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::size_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} ? number : unlimited;
}

std::size_t number_of(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    return std::getline(stream, line) ? number_in(line) : unlimited;
}

std::size_t machine_bytes(const fs::path& root) {
    constexpr std::string_view key = "MemTotal:";
    std::ifstream stream(root / "proc/meminfo");
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with(key)) {
            const std::size_t kilobytes = number_in(std::string_view(line).substr(key.size()));
            return kilobytes == unlimited ? unlimited : kilobytes * 1024;
        }
    }
    return unlimited;
}

/// The smallest limit of a group and its ancestors. In a container the path may be the host's,
/// which is not mounted; then the root is the container's own group.
std::size_t least_limit(const fs::path& hierarchy, std::string_view group, const char* file) {
    std::size_t least = number_of(hierarchy / file);
    fs::path at = hierarchy;
    for (const fs::path& part : fs::path(group).relative_path()) {
        at /= part;
        least = std::min(least, number_of(at / file));
    }
    return least;
}

bool lists_memory(std::string_view controllers) {
    while (!controllers.empty()) {
        const std::size_t end = std::min(controllers.find(','), controllers.size());
        if (controllers.substr(0, end) == "memory") {
            return true;
        }
        controllers.remove_prefix(std::min(end + 1, controllers.size()));
    }
    return false;
}

// A line is `number:controllers:path`; version 2 is number 0 without controllers.
std::size_t group_limit(const fs::path& root) {
    std::size_t least = unlimited;
    std::ifstream stream(root / "proc/self/cgroup");
    for (std::string line; std::getline(stream, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const std::string_view controllers(line.data() + first + 1, second - first - 1);
        const std::string_view group = std::string_view(line).substr(second + 1);
        const fs::path mounted = root / "sys/fs/cgroup";
        if (controllers.empty()) {
            least = std::min(least, least_limit(mounted, group, "memory.max"));
            least = std::min(least, least_limit(mounted / "unified", group, "memory.max"));
        } else if (lists_memory(controllers)) {
            least =
                std::min(least, least_limit(mounted / "memory", group, "memory.limit_in_bytes"));
        }
    }
    return least;
}

} // namespace

std::size_t usable_memory(const fs::path& root) {
    const std::size_t least = std::min(machine_bytes(root), group_limit(root));
    return least == unlimited ? assumed : least;
}

} // namespace agui::gateway
