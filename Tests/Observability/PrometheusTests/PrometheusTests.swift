import CoreMetrics
import Measures
import Testing

@testable import Prometheus

@Suite struct TextFormatTests {
    func text(_ family: MetricFamily, _ samples: MetricSample...) -> String {
        let registry = MetricsRegistry()
        registry.add(family) { samples }
        return String(decoding: registry.text(), as: UTF8.self)
    }

    @Test func `a metric has its meaning, its kind and its samples`() {
        let text = text(
            MetricFamily("tickets_total", .counter, labels: ["hall", "price"], "Sold tickets."),
            MetricSample("1", "full", value: 3), MetricSample("2", "half", value: 0.5))

        #expect(
            text == """
                # HELP tickets_total Sold tickets.
                # TYPE tickets_total counter
                tickets_total{hall="1",price="full"} 3
                tickets_total{hall="2",price="half"} 0.5

                """)
    }

    @Test func `quotes, backslashes and line ends are escaped in labels, and all but quotes in meanings`() {
        let text = text(
            MetricFamily("x", .gauge, labels: ["l"], "A \"b\" \\ c\nd"), MetricSample("a\"b\\c\nd é", value: 1))

        #expect(text == "# HELP x A \"b\" \\\\ c\\nd\n# TYPE x gauge\nx{l=\"a\\\"b\\\\c\\nd é\"} 1\n")
    }

    @Test func `a histogram's counts include those of all smaller bounds, in the metric's unit`() {
        let distribution = Distributions(bounds: [250_000, 1_000_000_000])
        for value in [1, 250_000, 5_000_000, 2_000_000_000] { distribution.add(value) }

        let text = text(
            MetricFamily("t_seconds", .histogram, labels: ["r"], "T."),
            MetricSample("a", value: distribution.reading(), perUnit: 1e9))

        #expect(
            text.split(separator: "\n").dropFirst(2) == [
                #"t_seconds_bucket{r="a",le="0.00025"} 2"#, #"t_seconds_bucket{r="a",le="1"} 3"#,
                #"t_seconds_bucket{r="a",le="+Inf"} 4"#, #"t_seconds_sum{r="a"} 2.005250001"#,
                #"t_seconds_count{r="a"} 4"#,
            ])
    }

    @Test func `a metric without samples is left out`() {
        #expect(text(MetricFamily("x", .gauge, "X.")) == "")
    }

    @Test(arguments: [
        (0.0, "0"), (-3, "-3"), (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ])
    func `numbers are written as Prometheus reads them`(number: Double, text: String) {
        #expect(TextWriter.text(of: number) == text)
    }
}

@Suite struct AppMetricsTests {
    let metrics = AppMetrics(familyLimit: 3, seriesLimit: 2, reservedPrefixes: ["server_"])

    var lines: [String] {
        String(decoding: MetricsRegistry(app: metrics).text(), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") }
    }

    func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
        Counter(label: label, dimensions: dimensions, factory: metrics)
    }

    @Test func `what an app counts is shown under a name that Prometheus allows`() {
        counter("shop.orders", [("pay-by", "card"), ("le", "x"), ("__y", "z")]).increment(by: 2)
        counter("shop.orders", [("le", "x"), ("__y", "z"), ("pay-by", "card")]).increment()
        counter("2-much_total").increment()

        #expect(lines == [#"shop_orders_total{_y="z",le_="x",pay_by="card"} 3"#, "_2_much_total 1"])
    }

    @Test func `each kind of metric has its form`() {
        FloatingPointCounter(label: "a", factory: metrics).increment(by: 0.5)
        Meter(label: "b", factory: metrics).set(7)
        let recorder = Recorder(label: "c", factory: metrics)
        recorder.record(1.5)
        recorder.record(2)
        #expect(lines == ["a_total 0.5", "b 7", "c_sum 3.5", "c_count 2"])
    }

    @Test func `a timer is a histogram of seconds`() {
        CoreMetrics.Timer(label: "wait", factory: metrics).recordMilliseconds(3)

        #expect(lines.contains(#"wait_seconds_bucket{le="0.0025"} 0"#))
        #expect(lines.contains(#"wait_seconds_bucket{le="0.005"} 1"#))
        #expect(lines.suffix(2) == ["wait_seconds_sum 0.003", "wait_seconds_count 1"])
    }

    @Test func `what is beyond the limits is dropped and counted`() {
        for series in ["1", "2", "3"] { counter("a", [("n", series)]).increment() }
        for name in ["b", "c", "d"] { counter(name).increment() }

        #expect(lines == [#"a_total{n="1"} 1"#, #"a_total{n="2"} 1"#, "b_total 1", "c_total 1"])
        #expect(metrics.dropped == 2)
    }

    @Test func `a name of the server, and a name that another kind has, are dropped`() {
        counter("server.orders").increment()
        Meter(label: "a_total", factory: metrics).set(1)
        counter("a").increment()

        #expect(lines == ["a_total 1"])
        #expect(metrics.dropped == 2)
    }

    @Test func `a metric that is destroyed is no longer shown, and its place is free`() {
        let first = counter("a", [("n", "1")])
        _ = counter("a", [("n", "2")])

        first.destroy()
        counter("a", [("n", "3")]).increment()

        #expect(lines == [#"a_total{n="2"} 0"#, #"a_total{n="3"} 1"#])
    }

    @Test func `concurrent recording loses nothing`() async {
        await withTaskGroup(of: Void.self) { [metrics] group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<100 {
                        // The same handlers each time, whoever asks first.
                        let number = FloatingPointCounter(label: "f", factory: metrics)
                        let counter = Counter(label: "c", factory: metrics)
                        for _ in 0..<50 {
                            number.increment(by: 0.5)
                            counter.increment()
                        }
                    }
                }
            }
        }

        #expect(lines.sorted() == ["c_total 40000", "f_total 20000"])
    }
}
