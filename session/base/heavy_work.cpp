#include "session/base/heavy_work.hpp"

namespace agui {

namespace {

// Up to this size the work takes some tens of milliseconds: most photos, which are sent as base64.
constexpr std::size_t mid_size_bytes_max = 4U << 20U;

} // namespace

heavy_work::~heavy_work() {
    mid_size_.join();
    large_.join();
}

boost::asio::thread_pool::executor_type heavy_work::lane_of(std::size_t bytes) noexcept {
    return (bytes <= mid_size_bytes_max ? mid_size_ : large_).get_executor();
}

} // namespace agui
