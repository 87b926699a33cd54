#include "session/base/clock.hpp"

namespace agui {

namespace {

class real_clock final : public clock {
public:
    [[nodiscard]] unix_ms now() const override {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch()
        )
            .count();
    }
};

} // namespace

const clock& system_clock() {
    static const real_clock instance;
    return instance;
}

} // namespace agui
