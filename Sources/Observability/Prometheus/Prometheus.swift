// Prometheus: writes metrics in Prometheus' text format (version 0.0.4), and is the backend of swift-metrics, through
// which apps record theirs.
//
// It does not know which metrics there are. The server's own are functions that read figures kept elsewhere, called
// when a scrape asks for them (`MetricsRegistry`); an app's metrics are made and recorded through swift-metrics
// (`AppMetrics`).
