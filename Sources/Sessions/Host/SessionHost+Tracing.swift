internal import Coordinators
internal import Tracing

// Spans of what a host does for a request. Without a tracer, nothing of this runs.
extension SessionHost {
    func commitTraced(_ change: SessionChange) async -> CommitOutcome {
        guard let tracer = settings.tracer else { return await store.commit([change]) }
        let span = tracer.startSpan("commit", ofKind: store.isShared ? .client : .internal)
        defer { span.end() }
        span.attributes["coordinatord.store"] = store.name
        let outcome = await store.commit([change])
        switch outcome {
        case .success(let conflicts): span.attributes["coordinatord.conflicts"] = conflicts.count
        case .failure(let error): span.setStatus(SpanStatus(code: .error, message: error.description))
        }
        return outcome
    }

    /// Makes each call of a coordinator's function in a transition of that session a span.
    func trace(_ run: inout TransitionRun, of id: SessionID) {
        guard let tracer = settings.tracer else { return }
        let app = run.appName
        run.wrapper = { running, call in
            let span = tracer.startSpan("\(running.coordinator).\(running.function)")
            defer { span.end() }
            if span.isRecording {
                span.attributes["session.id"] = id.text
                span.attributes["coordinatord.app"] = app
                span.attributes["coordinatord.coordinator"] = running.coordinator
                span.attributes["coordinatord.function"] = running.function
            }
            // Not `withSpan`, which may leave the thread: a function that never suspends need not be waited for.
            try await InstrumentationContext.$current.withValue(span.context) {
                do { try await call() } catch {
                    span.recordError(error)
                    span.setStatus(SpanStatus(code: .error))
                    throw error
                }
            }
        }
    }
}
