import Foundation
import Synchronization

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Sends requests with `URLSession`. Its parts come by a delegate, since Linux has no `URLSession.bytes`.
public final class Transport: Sendable {
    private let session: URLSession
    private let receiver = Receiver()

    /// - Parameter configuration: for proxies, additional header fields and the like. Nothing is cached.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        // Each session that is followed keeps a connection.
        configuration.httpMaximumConnectionsPerHost = max(configuration.httpMaximumConnectionsPerHost, 32)
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    /// What all sessions use that are given none.
    public static let shared = Transport()

    /// Ends a request from outside.
    final class Handle: Sendable {
        private let task = Mutex<URLSessionTask?>(nil)

        func cancel() { task.withLock { $0 }?.cancel() }
        fileprivate func take(_ next: URLSessionTask) { task.withLock { $0 = next } }
    }

    enum Part {
        case head(status: Int, headers: [String: String])
        case data(Data)
    }

    /// The head of the answer, then its body, as they arrive. Ends with an error if nothing arrives for the request's
    /// `timeoutInterval`. The request is cancelled when nobody reads any more.
    func parts(of request: URLRequest, _ handle: Handle) -> AsyncThrowingStream<Part, any Error> {
        let (parts, continuation) = AsyncThrowingStream<Part, any Error>.makeStream()
        let task = session.dataTask(with: request)
        receiver.readers.withLock { $0[task.taskIdentifier] = continuation }
        handle.take(task)
        continuation.onTermination = { if case .cancelled = $0 { task.cancel() } }
        task.resume()
        return parts
    }

    /// A whole answer.
    func answer(to request: URLRequest, _ handle: Handle) async throws -> Answer {
        var answer = Answer()
        for try await part in parts(of: request, handle) {
            switch part {
            case .head(let status, let headers): (answer.status, answer.headers) = (status, headers)
            case .data(let data): answer.body += data
            }
        }
        try Task.checkCancellation()
        return answer
    }

    private final class Receiver: NSObject, URLSessionDataDelegate, Sendable {
        let readers = Mutex<[Int: AsyncThrowingStream<Part, any Error>.Continuation]>([:])

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            let response = response as? HTTPURLResponse
            var headers: [String: String] = [:]
            for case (let name as String, let value as String) in response?.allHeaderFields ?? [:] {
                headers[name.lowercased()] = value
            }
            reader(of: dataTask)?.yield(.head(status: response?.statusCode ?? 0, headers: headers))
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            reader(of: dataTask)?.yield(.data(data))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            readers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.finish(throwing: error)
        }

        /// The server never redirects: whoever does must not get the token.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }

        private func reader(of task: URLSessionTask) -> AsyncThrowingStream<Part, any Error>.Continuation? {
            readers.withLock { $0[task.taskIdentifier] }
        }
    }
}

/// An answer to a request, whoever sent it.
struct Answer {
    var status = 0
    var headers: [String: String] = [:]
    var body = Data()

    /// The header field's number of seconds.
    var retryAfter: Duration? { headers["retry-after"].flatMap { Int($0) }.map { .seconds($0) } }

    /// The body of the server's own answer; throws its problem, or any other error if a gateway has answered, or half
    /// of the answer was lost: then it is unknown what the server has done.
    func decoded<T: Decodable>(as type: T.Type) throws -> T {
        switch status {
        case 204, 304: return try JSONDecoder.ofAPI.decode(type, from: Data("{}".utf8))
        case 200..<300: return try JSONDecoder.ofAPI.decode(type, from: body)
        default:
            var problem = try JSONDecoder.ofAPI.decode(Problem.self, from: body)
            guard problem.status == status else { throw URLError(.badServerResponse) }
            problem.retryAfter = retryAfter
            // The first one is that of the detail.
            problem.language = headers["content-language"]?.split(separator: ",").first.map { String($0) } ?? "en"
            throw problem
        }
    }
}

/// An answer whose body says nothing.
struct Nothing: Decodable {}
