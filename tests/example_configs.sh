#!/usr/bin/env bash
# Each example configuration can be started with. Use: example_configs.sh GATEWAY FOLDER
set -u
gateway=${1:?the program} folder=${2:?the folder of the configurations}
wrong=0
count=0
for file in "$folder"/*.toml; do
    count=$((count + 1))
    # The keys that it takes from the environment.
    mapfile -t keys < <(sed -nE -e 's/^(api_key|token)_env = "([A-Z_]+)".*/\2=key-of-a-test-\2/p' \
        -e 's/^header_env = \{ [A-Za-z-]+ = "([A-Z_]+)" \}.*/\1=key-of-a-test-\1/p' "$file")
    if ! output=$(env "${keys[@]}" "$gateway" --config "$file" --check-config 2>&1); then
        printf '%s:\n%s\n' "$file" "$output"
        wrong=1
    fi
done
[ "$count" -gt 0 ] || { echo "there is no configuration in $folder"; wrong=1; }
exit $wrong
