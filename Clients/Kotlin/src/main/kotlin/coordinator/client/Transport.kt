package coordinator.client

import java.io.IOException
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpHeaders
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.HttpResponse.BodySubscribers
import java.security.SecureRandom
import java.time.Duration as JavaDuration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Flow
import kotlin.jvm.optionals.getOrNull
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject

/** A key that nobody can guess: one for each thing that the user does. */
internal fun newKey(): String = ByteArray(16).also(SecureRandom()::nextBytes).joinToString("") { "%02x".format(it) }

/** What is known after a request. */
internal sealed interface Answer {
    /** [json] is null with 204 and 304. */
    class Done(val status: Int, val json: JsonObject?, headers: HttpHeaders) : Answer {
        val tag: String? = headers.firstValue("ETag").getOrNull()

        /** Whether this is an answer from before, and the session has gone on since. */
        val isOlder = headers.firstValue("Session-Version").getOrNull()?.toLongOrNull()
            .let { it != null && it > (json?.child("session")?.number("version") ?: 0) }
    }

    class Refused(val problem: Problem) : Answer

    /** Nothing is known: no connection, or a gateway has answered. [problem] is why the server has had it wait, if so. */
    class Open(val problem: Problem?) : Answer
}

/** Sends requests until the outcome is known. */
internal class Transport(server: URI) {
    private val server = server.toString().trimEnd('/')
    private val http = HttpClient.newBuilder().connectTimeout(JavaDuration.ofSeconds(10))
        // Without TLS, HTTP/2 would begin as an upgrade, with which not every proxy copes.
        .version(if (server.scheme == "https") HttpClient.Version.HTTP_2 else HttpClient.Version.HTTP_1_1).build()

    val waiting = MutableStateFlow<Waiting?>(null)
    val retries = MutableSharedFlow<Unit>(extraBufferCapacity = 1)

    /**
     * Repeats a request, always with its key, until an answer of the server says what has happened, or the deadline has
     * passed. What is carried out is answered with an object that has the [member]. With [wait] the server may take so
     * many seconds longer. An attempt may take five seconds, the next one ten, then twenty: a connection that has died says
     * nothing, and the next attempt may find one that lives. It is not repeated when the session [isOver].
     */
    suspend fun send(
        method: String, path: String, token: String?, request: OpenRequest? = null, member: String? = null,
        deadline: Duration = 30.seconds, wait: Int = 0, fields: Map<String, String> = emptyMap(),
        isOver: () -> Boolean = { false },
    ): Answer {
        val builder = builder(path, token).method(
            method, request?.let { BodyPublishers.ofString(it.body) } ?: BodyPublishers.noBody())
        if (request != null) builder.header("Content-Type", "application/json").header("Idempotency-Key", request.key)
        if (wait > 0) builder.header("Prefer", "wait=$wait")
        fields.forEach(builder::header)
        val message = builder.build()
        val begun = TimeSource.Monotonic.markNow()
        val limit = deadline + wait.seconds
        var last: Problem? = null
        var failures = 0
        while (true) {
            val left = limit - begun.elapsedNow()
            val patience = (5 shl failures.coerceAtMost(3)).coerceAtMost(30) + wait
            val answer = withTimeoutOrNull(minOf(left, patience.seconds)) {
                noticed((3 + wait).seconds) { attempt(message, member) }
            }
            val problem = (answer as? Answer.Refused)?.problem
            last = problem ?: last
            val isTooSlow = problem?.status == 504 && failures == 0
            if (answer is Answer.Done || problem != null && !problem.isTemporary && !isTooSlow) return answer
            val wanted = problem?.retryAfter?.seconds ?: backOff(failures)
            failures++
            val rest = limit - begun.elapsedNow()
            if (rest > Duration.ZERO) pause(problem, minOf(wanted, rest))
            if (wanted >= rest || isOver()) return Answer.Open(last)
        }
    }

    /** Says that a request waits for its answer, after some patience. */
    private suspend fun <T> noticed(patience: Duration, work: suspend () -> T): T = coroutineScope {
        val notice = launch {
            delay(patience)
            try {
                waiting.value = Waiting(0, Duration.ZERO)
                awaitCancellation()
            } finally {
                waiting.value = null
            }
        }
        try { work() } finally { notice.cancel() }
    }

    /** Waits, and says so; [retries] ends it. */
    suspend fun pause(problem: Problem?, duration: Duration) {
        try {
            waiting.value = Waiting(problem?.status ?: 0, duration)
            withTimeoutOrNull(duration) { retries.first() }
        } finally {
            waiting.value = null
        }
    }

    private fun builder(path: String, token: String?) = HttpRequest.newBuilder(URI(server + path)).also {
        if (token != null) it.header("Authorization", "Bearer $token")
    }

    /** Null if the outcome is open: no connection, half an answer, or one that is not the server's. */
    private suspend fun attempt(message: HttpRequest, member: String?): Answer? {
        val response = try {
            http.sendAsync(message, BodyHandlers.ofString()).await()
        } catch (_: IOException) {
            return null
        }
        val json = parse(response.body())
        val status = response.statusCode()
        return when {
            status == 204 || status == 304 -> Answer.Done(status, null, response.headers())
            status in 200..299 ->
                json?.takeIf { member == null || member in it }?.let { Answer.Done(status, it, response.headers()) }
            else -> problem(status, json, response.headers())?.let(Answer::Refused)
        }
    }

    /** Reads the lines of a stream, until it ends or nothing has come for 45 s. Returns a problem instead of a stream. */
    suspend fun stream(path: String, token: String, lastTag: String?, onLine: suspend (String) -> Unit): Problem? {
        val builder = builder(path, token).header("Accept", "text/event-stream")
        if (lastTag != null) builder.header("Last-Event-ID", lastTag)
        val lines = Channel<String>(Channel.UNLIMITED)
        var status = 0
        var headers: HttpHeaders? = null
        val future: CompletableFuture<*> = http.sendAsync(builder.build()) { head ->
            status = head.statusCode()
            headers = head.headers()
            BodySubscribers.fromLineSubscriber(Lines(lines))
        }
        future.whenComplete { _, _ -> lines.close() }
        try {
            val body = StringBuilder()
            while (true) {
                val line = withTimeoutOrNull(45.seconds) { lines.receiveCatching().getOrNull() } ?: break
                if (status == 200) onLine(line) else body.appendLine(line)
            }
            return headers?.takeIf { status != 200 }?.let { problem(status, parse(body.toString()), it) }
        } finally {
            future.cancel(true)
        }
    }

    private class Lines(private val lines: Channel<String>) : Flow.Subscriber<String> {
        override fun onSubscribe(subscription: Flow.Subscription) = subscription.request(Long.MAX_VALUE)
        override fun onNext(line: String) { lines.trySend(line) }
        override fun onError(error: Throwable) { lines.close() }
        override fun onComplete() { lines.close() }
    }
}

/** Half a second, twice as long after each failure, up to 15 s; with a random part, so that clients spread. */
internal fun backOff(failures: Int): Duration =
    (500L shl failures.coerceAtMost(5)).coerceAtMost(15_000).milliseconds * Random.nextDouble(0.5, 1.0)

private fun problem(status: Int, json: JsonObject?, headers: HttpHeaders) = Problem.of(
    status, json, headers.firstValue("Retry-After").getOrNull()?.toLongOrNull(),
    headers.firstValue("Content-Language").getOrNull())

/** Null if the text is no object. */
internal fun parse(text: String): JsonObject? = runCatching { Json.parseToJsonElement(text) as JsonObject }.getOrNull()
