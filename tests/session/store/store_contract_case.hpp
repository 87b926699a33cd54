#pragma once

#include "session/base/work_count.hpp"
#include "session/history/shown_messages.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/session/store/store_contract.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <thread>
#include <tuple>

namespace agui::session::store_contract_case {

namespace asio = boost::asio;
namespace json = boost::json;

using test::frames_of;
using test::key_of;
using test::query_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::StoreContract;
using test::thread_1;
using test::user_message;
using test::user_turn;

} // namespace agui::session::store_contract_case
