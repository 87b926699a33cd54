#include "session/history/history_ids.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/content_form.hpp"
#include "session/history/history_rules.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace agui::session {

namespace {

class distinct_maker {
public:
    explicit distinct_maker(std::vector<message>& messages) : messages_(messages) {}

    bool run() {
        text_set ids;
        std::vector<bool> dropped(messages_.size());
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            ids.insert(messages_[i].id);
            const auto [first, is_new] = first_of_id_.try_emplace(messages_[i].id, i);
            is_distinct_ = is_distinct_ && is_new;
            if (!is_user(messages_[i])) {
                continue;
            }
            const auto [known, is_first] = last_user_.try_emplace(messages_[i].id, i);
            if (!is_first) {
                // A repeat leaves the first where it is; other content replaces it.
                const bool is_repeat = same(messages_[known->second], messages_[i]);
                dropped[is_repeat ? i : known->second] = true;
                known->second = is_repeat ? known->second : i;
            }
        }
        if (is_distinct_) {
            return false;
        }
        rename_others(ids, dropped);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            if (!dropped[i]) {
                if (kept != i) {
                    messages_[kept] = std::move(messages_[i]);
                }
                ++kept;
            }
        }
        messages_.resize(kept);
        return true;
    }

private:
    void rename_others(text_set& ids, std::vector<bool>& dropped) {
        text_map<std::size_t> counts;
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            message& one = messages_[i];
            if (is_user(one)) {
                continue;
            }
            const std::size_t first = first_of_id_.at(one.id);
            const bool is_taken = first != i || last_user_.contains(one.id);
            if (!is_taken) {
                continue;
            }
            if (first < i && same(messages_[first], one)) {
                dropped[i] = true;
                continue;
            }
            std::size_t& count = counts[one.id];
            std::string id;
            do {
                id = one.id + ":" + std::to_string(++count);
            } while (!ids.insert(id).second);
            renamed_.emplace_back(i, std::move(id));
        }
        for (auto& [i, id] : renamed_) {
            messages_[i].id = std::move(id);
        }
    }

    [[nodiscard]] bool same(const message& left, const message& right) {
        count_work();
        return left.role == right.role && left.tool_call_id == right.tool_call_id &&
               left.error == right.error && left.tool_calls == right.tool_calls &&
               left.subagent_run_id == right.subagent_run_id &&
               left.activity_type == right.activity_type && left.activity == right.activity &&
               forms_.of(left) == forms_.of(right);
    }

    std::vector<message>& messages_;
    text_map<std::size_t> first_of_id_;
    text_map<std::size_t> last_user_;
    std::vector<std::pair<std::size_t, std::string>> renamed_;
    content_forms forms_;
    bool is_distinct_ = true;
};

} // namespace

bool make_ids_distinct(std::vector<message>& messages) { return distinct_maker(messages).run(); }

} // namespace agui::session
