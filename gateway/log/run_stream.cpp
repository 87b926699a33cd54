#include "gateway/log/run_stream.hpp"

#include <utility>

namespace agui::gateway {

namespace {

std::optional<renamed_form> renamed(const run_stream_request& what) {
    std::optional<renamed_form> form;
    if (what.naming) {
        form.emplace(*what.form, what.naming);
    }
    return form;
}

} // namespace

run_stream::run_stream(run_stream_request what)
    : renamed_(renamed(what)),
      form_(renamed_ ? static_cast<const stream_form&>(*renamed_) : *what.form),
      log_(std::move(what.log)),
      next_(std::move(what.next)),
      at_{
          .projection = what.projection,
          .after = what.after,
          .offset = what.offset,
          .split_at = what.split_at,
      },
      next_offset_(what.next_offset) {}

std::string_view run_stream::content_type() const noexcept { return form_.content_type(); }

void run_stream::open(boost::asio::any_io_executor executor) {
    token_.emplace(log_);
    if (next_) {
        next_token_.emplace(next_);
    }
    waiter_.emplace(std::move(executor));
}

void run_stream::read(std::size_t max_bytes, batch& out) {
    out.bytes.clear();
    event_log::rest rest = log_->read(at_, form_, max_bytes, out.bytes);
    out.ended = rest.ended;
    out.caught_up = rest.caught_up;
    out.cut_off = rest.cut_off;
    if (rest.next) {
        go_on_in(std::move(rest.next));
    } else if (out.ended && next_) {
        log_ = std::move(next_);
        at_ = {.projection = at_.projection, .offset = next_offset_, .knows_earlier_results = true};
        out.ended = false;
    }
}

// `log` has all events that the reader has seen, with the same numbers.
void run_stream::go_on_in(std::shared_ptr<event_log> log) {
    token_.emplace(log);
    if (!next_) {
        next_token_.reset(); // It belonged to the former log.
    }
    log_ = std::move(log);
}

boost::asio::awaitable<void> run_stream::wait() { return log_->wait(at_, *waiter_); }

void run_stream::set_step(woken_step& step) { waiter_->set_step(step); }

bool run_stream::wait_again(resumption& here) { return log_->wait_again(at_, *waiter_, here); }

void run_stream::wake() { log_->wake(*waiter_); }

void run_stream::cut_off() noexcept {
    token_->set_cut_off();
    if (next_token_) {
        next_token_->set_cut_off();
    }
}

std::size_t run_stream::backlog_bytes() const { return log_->backlog_bytes(at_, form_); }

std::string_view run_stream::heartbeat() const noexcept { return form_.heartbeat(); }

std::string_view run_stream::cut_off_note() const noexcept { return form_.cut_off_note(); }

} // namespace agui::gateway
