internal import ByteText
internal import Glibc
internal import MicroHTTP
internal import Prometheus

/// The process and the build. The names that begin with `process_` are those of Prometheus' own client libraries.
enum ProcessMetrics {
    static let all = [
        ServerMetric(
            "coordinatord_build_info", .gauge, labels: ["version", "program", "program_version", "libmicrohttpd"],
            "Always 1; the labels say what runs."
        ) { figures in
            [
                MetricSample(
                    Release.version, figures.program.name, figures.program.version ?? "", HTTPServer.libraryVersion,
                    value: 1)
            ]
        },
        ServerMetric(
            "coordinatord_allocator_bytes", .gauge, labels: ["kind"],
            """
            What the allocator, jemalloc, says: allocated by the program; in active pages; resident in memory; mapped; \
            retained, which is address space without memory; metadata of its own.
            """
        ) { _ in Allocator.figures.map { MetricSample($0.name, value: $0.bytes) } },
        ServerMetric(
            "coordinatord_app_metrics_dropped_total", .counter,
            "Metrics of the apps that were not made: too many, or a name that is taken."
        ) { $0.metrics.apps.dropped },
        ServerMetric(
            "coordinatord_log_messages_dropped_total", .counter,
            "Messages that are not in the log, because it was not read or could not be written."
        ) { _ in [MetricSample(value: LineOutput.standardError.dropped)] },
        ServerMetric("process_cpu_seconds_total", .counter, "Processor time, in user and system mode.") { _ in
            [MetricSample(value: ProcessFigures.processorTime)]
        },
        ServerMetric("process_resident_memory_bytes", .gauge, "Resident memory.") { _ in ProcessFigures.memory },
        ServerMetric("process_open_fds", .gauge, "Open descriptors.") { _ in ProcessFigures.descriptors },
        ServerMetric("process_max_fds", .gauge, "The limit of descriptors.") { _ in ProcessFigures.descriptorLimit },
        ServerMetric("process_start_time_seconds", .gauge, "When the process began, in seconds since 1970.") { _ in
            ProcessFigures.start.map { [MetricSample(value: $0)] } ?? []
        },
    ]
}

/// What the system says about this process, see proc(5).
private enum ProcessFigures {
    /// In seconds.
    static var processorTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    /// Resident bytes.
    static var memory: Int? {
        SystemFile.text("/proc/self/statm").flatMap { text in
            let pages = text.words.dropFirst().first.flatMap { Int($0) }
            return pages.map { $0 * sysconf(CInt(_SC_PAGESIZE)) }
        }
    }

    static var descriptors: Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without “.”, “..” and the directory itself.
        return max(0, count - 3)
    }

    static var descriptorLimit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// In seconds since 1970: the machine's start, and the ticks until this process began.
    static let start: Double? = {
        // The name of the program, in parentheses, may contain anything.
        let fields = SystemFile.text("/proc/self/stat")?.parts(at: ")").last?.words
        let boot = SystemFile.text("/proc/stat")?.lines.first { $0.begins(with: "btime ") }
        guard let fields, fields.count > 19, let ticks = Double(fields[19]),
            let seconds = boot?.words.last.flatMap({ Double($0) })
        else { return nil }
        return seconds + ticks / Double(sysconf(CInt(_SC_CLK_TCK)))
    }()
}
