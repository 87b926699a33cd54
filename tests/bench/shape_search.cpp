// Searches randomly shaped requests for those that cost the most CPU per byte of body, from reading
// to storing; prints the ten worst as lines for worst_shapes().
//
//   shape-search [shapes] [bytes of a body, about] [store: memory or sqlite:FOLDER]
//   shape-search schemas [shapes] [bytes]    tools' schemas against arguments: CPU and memory
//   shape-search floods                      known floods of a schema against its arguments

#include "tests/bench/schema_search.hpp"
#include "tests/gateway/input_pipeline.hpp"
#include "tests/gateway/input_shapes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <time.h>

namespace agui::test {
namespace {

double cpu_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct cost {
    input_shape shape;
    double ms_per_100_kb = 0;
    std::size_t bytes = 0; // Of one body.
    bool refused = false;
};

std::size_t length(const input_shape& shape, unsigned size) {
    return bodies_of(shape, size, 1).front().size();
}

// The largest size whose body is not longer than `bytes`.
unsigned size_for(const input_shape& shape, std::size_t bytes) {
    unsigned size = 1;
    while (size < 100'000 && length(shape, 2 * size) <= bytes) {
        size *= 2;
    }
    return size;
}

// An empty one each time: the shapes use the same thread.
std::unique_ptr<session::store> open_store(const std::string& name) {
    if (name == "memory") {
        return session::make_memory_store();
    }
    static int number = 0;
    session::sqlite_settings settings;
    settings.path = name.substr(name.find(':') + 1) + "/" + std::to_string(++number) + ".db";
    return session::make_sqlite_store(settings);
}

cost measure(const input_shape& shape, std::size_t bytes, const std::string& store) {
    cost found{shape};
    session::history_policy policy;
    policy.accept_client_system = true;
    policy.mode =
        shape.client_history ? session::history_mode::client : session::history_mode::server;
    const std::vector<std::string> bodies = bodies_of(shape, size_for(shape, bytes), 3);
    input_pipeline pipeline(open_store(store), policy);
    for (const std::string& body : bodies) {
        const double before = cpu_ms();
        found.refused = !pipeline.post(body) || found.refused;
        const double ms = (cpu_ms() - before) / static_cast<double>(body.size()) * 100e3;
        if (ms > found.ms_per_100_kb) {
            found.ms_per_100_kb = ms;
            found.bytes = body.size();
        }
    }
    return found;
}

void print(const std::vector<cost>& costs, std::size_t most) {
    for (std::size_t i = 0; i < std::min(most, costs.size()); ++i) {
        std::printf(
            "%7.2f ms/100 KB  %8zu bytes%s  %s\n", costs[i].ms_per_100_kb, costs[i].bytes,
            costs[i].refused ? " refused" : "", to_string(costs[i].shape).c_str()
        );
    }
}

int search(std::uint32_t shapes, std::size_t bytes, const std::string& store) {
    const auto dearer = [](const cost& left, const cost& right) {
        return left.ms_per_100_kb > right.ms_per_100_kb;
    };
    std::vector<cost> known;
    for (const input_shape& shape : worst_shapes()) {
        known.push_back(measure(shape, bytes, store));
    }
    std::ranges::sort(known, dearer);
    std::printf("the shapes of the tests:\n");
    print(known, known.size());
    std::vector<cost> found;
    for (std::uint32_t seed = 1; seed <= shapes; ++seed) {
        found.push_back(measure(random_shape(seed), bytes, store));
    }
    std::ranges::sort(found, dearer);
    std::printf("the ten worst of %u random ones:\n", shapes);
    print(found, 10);
    return 0;
}

int run(std::vector<std::string> arguments) {
    const std::string side = arguments.empty() ? "" : arguments.front();
    if (side == "floods") {
        print_schema_floods();
        return 0;
    }
    if (side == "schemas") {
        arguments.erase(arguments.begin());
    }
    const auto number = [&arguments](std::size_t place, unsigned long otherwise) {
        return arguments.size() > place ? std::strtoul(arguments[place].c_str(), nullptr, 10)
                                        : otherwise;
    };
    const auto shapes = static_cast<std::uint32_t>(number(0, 1000));
    const std::size_t bytes = number(1, 100'000);
    if (side == "schemas") {
        search_schemas(shapes, bytes);
        return 0;
    }
    return search(shapes, bytes, arguments.size() > 2 ? arguments[2] : "memory");
}

} // namespace
} // namespace agui::test

int main(int argc, char** argv) {
    try {
        return agui::test::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
