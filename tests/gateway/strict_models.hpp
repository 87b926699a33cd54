#pragma once

#include "runner/http/scripted_transport.hpp"
#include "tests/gateway/strict_vendor.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// Requests that do not begin with the one before.
struct counted_breaks {
    std::size_t switches = 0; ///< Another model was asked.
    std::size_t others = 0;

    friend bool operator==(const counted_breaks&, const counted_breaks&) = default;
};

inline void PrintTo(const counted_breaks& value, std::ostream* out) {
    *out << value.switches << " switches of models, " << value.others << " other breaks";
}

/// Servers of all dialects, each with one model, that take part in the same threads. They answer at
/// random and refuse, with status 400:
/// - what the vendor refuses (strict_vendor): results, ids and names that do not fit together;
/// - opaque data of another model, changed, or with another conversation before it;
/// - a request that does not begin with the model's last request of its thread and the answer to
///   that. Where tools were added, this goes for what every model can read: the opaque data of
///   earlier answers is bound to the tools.
/// The first word of the system text is the thread's id. Safe to use from any thread.
class strict_models {
public:
    strict_models();

    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] runner::scripted_answer
    answer(const std::string& model, const runner::transport_request& request);

    /// The answers that follow are those of this seed.
    void seed(std::uint32_t value);
    /// The thread's requests need not begin alike; breaks are only counted.
    void allow_breaks(const std::string& thread);
    /// The thread's next request to each model may begin in another way.
    void forget(const std::string& thread);
    /// The gateway was started again: it compares the next request of a thread with nothing.
    void note_restart();

    [[nodiscard]] std::vector<std::string> refusals() const;
    [[nodiscard]] std::size_t requests() const;
    /// Opaque parts that came back to the model.
    [[nodiscard]] std::size_t returned(const std::string& model) const;
    /// The part of the bytes of former requests that the ones after them repeat, where nothing but
    /// new turns happened.
    [[nodiscard]] double repeated() const;
    /// Of each thread that has any.
    [[nodiscard]] std::map<std::string, counted_breaks> breaks() const;

private:
    /// A request, and the answer to it.
    struct exchange {
        std::string body;
        asked_request asked;
    };
    struct server {
        std::unique_ptr<strict_vendor> vendor;
        std::map<std::string, std::size_t> opaque; ///< Hash of what stood before each.
        std::map<std::string, exchange> last;      ///< By thread.
        std::size_t returned = 0;
    };
    struct last_request {
        std::string model;
        asked_request asked;
    };

    std::string take(const std::string& model, const std::string& body);
    void check_beginning(server& of, const std::string& thread, const exchange& now);
    void count_break(const std::string& thread, const std::string& model, const asked_request& now);

    mutable std::mutex mutex_;
    random_source random_{0};
    std::uint64_t number_ = 0;
    std::map<std::string, server> servers_;
    std::map<std::string, last_request> last_; ///< By thread, whatever the model.
    std::set<std::string> free_;               ///< See allow_breaks().
    std::map<std::string, counted_breaks> breaks_;
    std::vector<std::string> refusals_;
    std::size_t requests_ = 0;
    std::size_t repeated_ = 0;
    std::size_t former_bytes_ = 0;
};

} // namespace agui::test
