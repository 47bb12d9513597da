# Asks Prometheus for what the server's metrics were. The scripts source it; `work` is their directory.

# Prints the address of the metrics of a server that was started with `--admin-port 0` and the log `$1`.
metrics_address() { sed -n 's/.*metrics: http:\/\/\(.*\)\/metrics.*/\1/p' "$1"; }

# Starts Prometheus, which reads the metrics at the address `$1` every `$2` seconds.
start_prometheus() {
    cat > "$work/prometheus.yaml" << YAML
global: { scrape_interval: $2s }
scrape_configs: [{ job_name: coordinatord, static_configs: [{ targets: ["$1"] }] }]
YAML
    prometheus_port=$(free_port)
    prometheus --config.file "$work/prometheus.yaml" --storage.tsdb.path "$work/prometheus" \
        --web.listen-address "127.0.0.1:$prometheus_port" 2> "$work/prometheus.log" &
    children+=($!)
    wait_for_port "$prometheus_port"
}

# Writes lines "second value" of the query `$2` into the file `$work/$1`, from `begin` to `end`, one for each `step`.
query() {
    curl -fsS "http://127.0.0.1:$prometheus_port/api/v1/query_range" --data-urlencode "query=$2" -d "start=$begin" \
        -d "end=$end" -d "step=$step" |
        jq -r --argjson begin "$begin" '.data.result[].values[] | select(.[1] != "NaN") | "\(.[0] - $begin) \(.[1])"' \
            > "$work/$1"
    [ -s "$work/$1" ] || { echo "Prometheus knows nothing of $2" >&2; exit 1; }
}

# The time within which the share `$1` of the requests of the route `$2` are answered, in ms, over `$3` seconds.
latency() {
    local rate="rate(coordinatord_http_request_duration_seconds_bucket{route=\"$2\"}[$3s])"
    echo "1000 * histogram_quantile($1, sum by (le) ($rate))"
}
