// Prometheus: metrics in Prometheus' text format (version 0.0.4), and the target behind swift-metrics' API that apps
// record theirs with.
//
// It does not know which metrics there are. The server's own are functions that read figures kept elsewhere, called
// when a scrape asks for them (`MetricsRegistry`); an app's metrics are made and recorded through swift-metrics
// (`AppMetrics`).
