# Turns lines "ROUND<tab>TARGET<tab>JSON" of bench-load into the table of run.sh, for its -v workload. With -v only_noise=1
# it prints only what others took of the two cores, in per cent, if that was more than -v noise_limit.
# Every figure is a median over the rounds, followed by the first and third quartile.

BEGIN {
    FS = "\t"
    count_names = split("direct nginx memory anthropic responses sqlite postgres two elsewhere chat chat-full protobuf limited limited-sqlite", names, " ")
    title["direct"] = "direct"
    title["nginx"] = "nginx"
    title["memory"] = "gateway, memory:"
    title["anthropic"] = "memory:, Messages"
    title["responses"] = "memory:, Responses"
    title["sqlite"] = "gateway, sqlite:"
    title["postgres"] = "gateway, postgres:"
    title["two"] = "postgres: two"
    title["elsewhere"] = "postgres: elsewhere"
    title["chat"] = "chat, incremental"
    title["chat-full"] = "chat, full"
    title["protobuf"] = "memory:, protobuf"
    title["limited"] = "memory:, limited"
    title["limited-sqlite"] = "sqlite:, limited"
    limit_name["memory"] = "the gateway with memory"
    dialect_limit = 1.15
    limit_name["sqlite"] = "the gateway with sqlite"
    fanout = workload == "fanout"
    unit = workload == "one-token" ? "a run" : "a token"
    ratio_limit["memory"] = fanout ? 1 : workload == "one-token" ? 0 : 1.6
    ratio_limit["sqlite"] = fanout ? 1 : workload == "tokens-1000" ? 1.65 : 0
    # What the durable store may cost over memory, a token of runs of 100 tokens and of 1000.
    cpu_limit = workload == "streams" || workload ~ /^runs-/ ? 8 : workload == "tokens-1000" ? 3 : 0
    kb_limit = fanout || workload ~ /^((tokens|answers)-|one-token)/ ? 0 : workload == "history" || workload == "long" ? 28 : 24
}

# The number that a flat JSON object holds under a name; "" if it has none.
function member(json, name,    at, rest) {
    at = index(json, "\"" name "\":")
    if (at == 0) {
        return ""
    }
    rest = substr(json, at + length(name) + 3)
    sub(/[,}].*/, "", rest)
    return rest + 0
}

{
    if ($1 > rounds) {
        rounds = $1
    }
    measured[$2]++
    cpu[$2, $1] = member($3, "cpu_us_per_token")
    p50[$2, $1] = member($3, "latency_p50_us")
    p99[$2, $1] = member($3, "latency_p99_us")
    kb[$2, $1] = member($3, "kb_per_stream")
    noise = member($3, "foreign_cpu_percent") + member($3, "steal_percent")
    if (noise > noise_limit) {
        noisy++
    }
    if (noise > noisiest) {
        noisiest = noise
    }
    database[$2, $1] = member($3, "database_us_per_token")
    wal[$2, $1] = member($3, "wal_bytes_per_token")
    first_event[$2, $1] = member($3, "first_event_p50_us")
    late = member($3, "mock_late_p99_us")
    if (late > latest) {
        latest = late
    }
    harness = member($3, "harness_percent_at_peak")
    if (harness > busiest) {
        busiest = harness
    }
    bytes[$2, $1] = member($3, "bytes_per_token")
    joined[$2, $1] = member($3, "tokens_per_receive")
    attach_p50[$2, $1] = member($3, "attach_p50_us")
    attach_p99[$2, $1] = member($3, "attach_p99_us")
    reader_p50[$2, $1] = member($3, "reader_p50_us")
    reader_p99[$2, $1] = member($3, "reader_p99_us")
    readers[$2] += member($3, "readers")
    late_readers[$2] += member($3, "late_readers")
    pss[$2, $1] = (member($3, "pss_peak_kb") - member($3, "second_pss_peak_kb")) / 1024
    pss2[$2, $1] = member($3, "second_pss_peak_kb") / 1024
    descriptors[$2, $1] = member($3, "descriptors") - member($3, "second_descriptors")
    descriptors2[$2, $1] = member($3, "second_descriptors")
    cpu2[$2, $1] = member($3, "second_cpu_us_per_token")
    cpu1[$2, $1] = cpu[$2, $1] - cpu2[$2, $1]
}

# Fills sample[1..n] in rising order with what a target has over its partner in the same round: nothing
# ("itself"), the difference ("over") or the quotient ("by"). Returns n.
function collect(values, target, how, partner,    round, n, i, value) {
    n = 0
    for (round = 1; round <= rounds; round++) {
        if (!((target, round) in values) || values[target, round] == "") {
            continue
        }
        value = values[target, round]
        if (how != "itself") {
            if (!((partner, round) in values)) {
                continue
            }
            if (how == "by" && values[partner, round] + 0 == 0) {
                continue
            }
            value = how == "by" ? value / values[partner, round] : value - values[partner, round]
        }
        for (i = n++; i >= 1 && sample[i] > value; i--) {
            sample[i + 1] = sample[i]
        }
        sample[i + 1] = value
    }
    return n
}

# The quantile of sample[1..n], interpolated between neighbours.
function quantile(n, part,    at, low) {
    at = 1 + (n - 1) * part
    low = int(at)
    return low >= n ? sample[n] : sample[low] + (at - low) * (sample[low + 1] - sample[low])
}

function cell(n, decimals,    number) {
    if (n == 0) {
        return "-"
    }
    number = "%." decimals "f"
    return sprintf(number " (" number "-" number ")", quantile(n, 0.5), quantile(n, 0.25), quantile(n, 0.75))
}

function verdict(n, limit) {
    if (n == 0) {
        return ""
    }
    return quantile(n, 0.5) <= limit ? "within" : "over"
}

# Of pairs: those that read the run of another stream, at the gateway that has it or at the other one.
function report_readers(    i, name) {
    for (i = 1; i <= count_names; i++) {
        name = names[i]
        if (!readers[name]) {
            continue
        }
        printf "readers (%s): %d, first event p50 %s us", title[name], readers[name], \
            cell(collect(attach_p50, name, "itself"), 0)
        printf ", p99 %s us", cell(collect(attach_p99, name, "itself"), 0)
        printf "; a token p50 %s us", cell(collect(reader_p50, name, "itself"), 0)
        printf ", p99 %s us; with a token 50 ms later than who started the run: %d\n", \
            cell(collect(reader_p99, name, "itself"), 0), late_readers[name]
        if (name == "elsewhere") {
            printf "the gateway that has the runs: CPU %s us a token", cell(collect(cpu1, name, "itself"), 1)
            printf ", PSS %s MB", cell(collect(pss, name, "itself"), 0)
            printf ", descriptors %s", cell(collect(descriptors, name, "itself"), 0)
            printf "; the other one: CPU %s us", cell(collect(cpu2, name, "itself"), 1)
            printf ", PSS %s MB", cell(collect(pss2, name, "itself"), 0)
            printf ", descriptors %s\n", cell(collect(descriptors2, name, "itself"), 0)
        }
    }
    n = collect(attach_p50, "elsewhere", "over", "postgres")
    if (n > 0) {
        printf "first event elsewhere over one at the run: p50 %s us, limit 1000 (%s)", cell(n, 0), verdict(n, 1000)
        n = collect(attach_p99, "elsewhere", "over", "postgres")
        printf "; p99 %s us, limit 10000 (%s)\n", cell(n, 0), verdict(n, 10000)
    }
}

# What quotas, an audit and an access log cost.
function report_limits(limited, plain,    n) {
    n = collect(cpu, limited, "by", plain)
    if (n > 0) {
        printf "CPU of %s: %s of %s, limit 1.02 (%s)\n", title[limited], cell(n, 3), title[plain], verdict(n, 1.02)
    }
}

END {
    if (only_noise) {
        if (noisy) {
            printf "%.1f\n", noisiest
        }
        exit
    }
    row = "%-18s %-20s %-18s %-20s %-22s %s\n"
    printf row, "target", fanout ? "CPU us/reader-token" : "CPU us/token", "x nginx", "added p50 us", \
        "added p99 us", fanout ? "KB/reader" : "KB/open stream"
    for (i = 1; i <= count_names; i++) {
        name = names[i]
        if (!measured[name]) {
            continue
        }
        if (name == "direct") {
            printf row, title[name], "-", "-", "-", "-", "-"
            continue
        }
        cpu_cell = cell(collect(cpu, name, "itself"), 1)
        ratio_cell = name == "nginx" ? "1" : cell(collect(cpu, name, "by", "nginx"), 2)
        p50_cell = cell(collect(p50, name, "over", "direct"), 0)
        p99_cell = cell(collect(p99, name, "over", "direct"), 0)
        printf row, title[name], cpu_cell, ratio_cell, p50_cell, p99_cell, cell(collect(kb, name, "itself"), 1)
    }
    print ""
    if (workload == "history" || workload == "long") {
        for (i = 1; i <= count_names; i++) {
            n = collect(cpu, names[i], "itself")
            if (n > 0) {
                printf "CPU of a run of %s: %.2f ms\n", title[names[i]], quantile(n, 0.5) * tokens / 1000
            }
        }
    }
    report_limits("limited", "memory")
    report_limits("limited-sqlite", "sqlite")
    if (measured["direct"]) {
        printf "direct latency: p50 %s us, p99 %s us\n", cell(collect(p50, "direct", "itself"), 0), cell(collect(p99, "direct", "itself"), 0)
    }
    for (i = 1; i <= count_names; i++) {
        name = names[i]
        if (!(name in ratio_limit) || ratio_limit[name] == 0) {
            continue
        }
        n = collect(cpu, name, "by", "nginx")
        ratio_verdict = verdict(n, ratio_limit[name])
        n = collect(kb, name, "itself")
        printf "limits of %s: CPU <= %.2f x nginx%s%s\n", limit_name[name], ratio_limit[name], \
            ratio_verdict == "" ? "" : " (" ratio_verdict ")", \
            kb_limit == 0 ? "" : "; memory <= " kb_limit " KB per open stream" (n == 0 ? "" : " (" verdict(n, kb_limit) ")")
    }
    n = collect(cpu, "sqlite", "over", "memory")
    if (n > 0) {
        printf "sqlite over memory: CPU %s us %s%s", cell(n, 1), unit, \
            cpu_limit == 0 ? "" : ", limit " cpu_limit " (" verdict(n, cpu_limit) ")"
        n = collect(first_event, "sqlite", "over", "memory")
        printf "; first event p50 %s us, limit 2000 (%s)", cell(n, 0), verdict(n, 2000)
        n = collect(p99, "sqlite", "over", "direct")
        if (n > 0) {
            printf "; added p99 %s us, limit 3000 (%s)", cell(n, 0), verdict(n, 3000)
        }
        print ""
    }
    n = collect(cpu, "postgres", "over", "memory")
    if (n > 0) {
        printf "postgres over memory: CPU %s us %s", cell(n, 1), unit
        if (cpu_limit > 0) {
            printf ", limit %d (%s)", cpu_limit, verdict(n, cpu_limit)
        }
        printf "; first event p50 %s us\n", cell(collect(first_event, "postgres", "over", "memory"), 0)
    }
    report_readers()
    n = collect(p50, "elsewhere", "over", "postgres")
    if (n > 0) {
        printf "a reader elsewhere over one at the run: p50 %s us, limit 5000 (%s)", cell(n, 0), verdict(n, 5000)
        n = collect(p99, "elsewhere", "over", "postgres")
        printf "; p99 %s us, limit 50000 (%s)\n", cell(n, 0), verdict(n, 50000)
    }
    n = collect(cpu, "two", "by", "postgres")
    if (n > 0) {
        printf "two gateways over one, the same streams: CPU of both %s", cell(n, 2)
        printf "; first event p50 %s us", cell(collect(first_event, "two", "over", "postgres"), 0)
        printf "; p99 %s us\n", cell(collect(p99, "two", "over", "postgres"), 0)
    }
    for (i = 1; i <= count_names; i++) {
        name = names[i]
        n = collect(database, name, "itself")
        if (n > 0) {
            printf "the database server itself (%s): CPU %s us %s", title[name], cell(n, 1), unit
            printf ", write-ahead log %s bytes %s\n", cell(collect(wal, name, "itself"), 0), unit
        }
    }
    for (i = 1; i <= count_names; i++) {
        name = names[i]
        n = name == "anthropic" || name == "responses" ? collect(cpu, name, "by", "memory") : 0
        if (n > 0) {
            printf "CPU with %s over that with Chat Completions: %s, limit %.2f (%s)", title[name], cell(n, 2), dialect_limit, verdict(n, dialect_limit)
            printf "; first event p50 %s us\n", cell(collect(first_event, name, "over", "memory"), 0)
        }
    }
    n = collect(cpu, "chat", "by", "memory")
    if (n > 0) {
        printf "CPU of a chat stream in incremental mode over that of AG-UI events: %s, limit 1.1 (%s)\n", cell(n, 2), verdict(n, 1.1)
    }
    n = collect(cpu, "protobuf", "by", "memory")
    if (n > 0) {
        printf "CPU of protobuf over that of server-sent events: %s, limit 1.0 (%s)\n", cell(n, 2), verdict(n, 1)
    }
    for (i = 1; i <= count_names; i++) {
        n = collect(bytes, names[i], "itself")
        if (n > 0) {
            bytes_list = bytes_list sprintf("; %s %.0f", names[i], quantile(n, 0.5))
        }
    }
    print "bytes that the load generator received for a token: " substr(bytes_list, 3)
    for (i = 1; i <= count_names; i++) {
        n = collect(joined, names[i], "itself")
        if (n > 0) {
            joined_list = joined_list sprintf("; %s %.2f, at most %.2f", names[i], quantile(n, 0.5), sample[n])
        }
    }
    print "tokens that one receive of the load generator gave: " substr(joined_list, 3)
    printf "harness: at most %.0f %% of its core while all streams are open%s\n", busiest, \
        (busiest > 100 ? "; it could not keep up" : "")
    printf "noise: %d of %d measurements with more than %d %% of the two cores taken by others (worst %.1f %%); model late p99 at most %.0f us\n", \
        noisy, NR, noise_limit, noisiest, latest
}
