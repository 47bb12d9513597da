package coordinator.client

import java.net.URI
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put

/** What the client says about itself, for words in the user's language and the like. */
public data class ClientInfo(
    /** The user's language and region, as BCP 47 writes them: `de-AT`. */
    val locale: String? = null, val platform: String? = null, val version: String? = null,
) {
    internal fun json() = JsonObject(buildMap {
        locale?.let { put("locale", JsonPrimitive(it)) }
        platform?.let { put("platform", JsonPrimitive(it)) }
        version?.let { put("version", JsonPrimitive(it)) }
    })
}

/** What is the same for all requests. */
public data class Settings(
    /**
     * How long a tap may wait for its outcome. Afterwards it is withdrawn, so that what the user did without a connection
     * does not happen hours later; [Duration.INFINITE] if it shall.
     */
    val deadline: Duration = 30.seconds,
    /** Draws `back`, `selectTab` and `dismiss` at once, where [predicted] knows what they lead to. */
    val drawsEarly: Boolean = false,
    /** Whether states have [NavigationState.controls]. A client that knows its app's screens does without. */
    val includesControls: Boolean = true,
)

/**
 * What a request waits for: draw “no connection” if [status] is 0, “please wait” if it is 429 or 503. [pause] is zero
 * while an attempt has had no answer for 3 s.
 */
public data class Waiting(val status: Int, val pause: Duration)

/**
 * Opens sessions of a server, or the one that the storage keeps.
 *
 * ```
 * val client = NavigationClient(URI("https://nav.example.com"), FileStorage(Path.of("session")))
 * val opening = client.resume() ?: client.open("shop")
 * ```
 */
public class NavigationClient(
    server: URI,
    storage: SessionStorage,
    private val info: ClientInfo = ClientInfo(),
    private val settings: Settings = Settings(),
) {
    private val transport = Transport(server)
    private val storage = SharedStorage(storage)

    /** What a request is waiting for, or null. */
    public val waiting: StateFlow<Waiting?> get() = transport.waiting

    /** Why the storage does not keep the session, which goes on in memory; null if it does. */
    public val unsaved: StateFlow<Exception?> get() = storage.unsaved.asStateFlow()

    /** Ends the pauses of what waits, as when the system says that there is a network again. */
    public fun retry() { transport.retries.tryEmit(Unit) }

    /**
     * The session that is kept, in its present state; null if there is none. It settles what was under way when the app
     * ended: an event is not sent again, but a session that was being opened is opened. If that is refused, such as a code
     * that is too old by now, the session before it goes on.
     */
    public suspend fun resume(): Opening? = withContext(Dispatchers.IO) {
        val opening = storage.load().opening?.let { opened(it) }
        if (opening != null && opening !is Opening.Refused) return@withContext opening
        val saved = storage.load().session ?: return@withContext null
        NavigationSession(transport, storage.lease(), settings, saved).resumed()
    }

    /**
     * Opens a session of an app, in the place of the one that is kept, where [link] leads if there is one. The session
     * before it goes on until then, and if this one is refused.
     */
    public suspend fun open(app: String, link: String? = null): Opening = begin("/v1/sessions", buildJsonObject {
        put("app", app)
        link?.let { put("link", it) }
        put("client", info.json())
    })

    /**
     * Joins the session of another device, which shows a code, in the place of the one that is kept. A wrong code is refused
     * with `unknown-code`, and the session before it goes on. [role] is one of the app's roles, if the code lets this device
     * choose.
     */
    public suspend fun pair(
        code: String, label: String? = null, role: String? = null,
    ): Opening = begin("/v1/pairings", buildJsonObject {
        put("code", code)
        label?.let { put("label", it) }
        role?.let { put("role", it) }
        put("client", info.json())
    })

    /**
     * Forgets the session on this device; what is posted in it from now on is [Outcome.Over] with the reason `forgotten`.
     * To end it for all, call [NavigationSession.end] before.
     */
    public fun forget(): Unit = storage.clear()

    private suspend fun begin(path: String, body: JsonObject): Opening = withContext(Dispatchers.IO) {
        val request = OpenRequest(newKey(), path, body.toString())
        storage.begin(request)
        try {
            opened(request)
        } catch (cancellation: CancellationException) {
            storage.leave(request)
            throw cancellation
        }
    }

    private suspend fun opened(request: OpenRequest): Opening {
        val query = if (settings.includesControls) "?include=controls" else ""
        val answer = transport.send("POST", request.path + query, null, request, "token", settings.deadline)
        val state = (answer as? Answer.Done)?.json
        val id = state?.child("session")?.text("id")
        if (state == null || id == null) {
            if (answer !is Answer.Refused) return Opening.Unreachable.also { storage.leave(request) }
            storage.giveUp(request)
            return Opening.Refused(answer.problem)
        }
        val saved = Saved(id, state.text("token").orEmpty(), null)
        val session = NavigationSession(transport, storage.lease(saved), settings, saved).begun(state, answer.tag)
        // The answer to a repeated request may be older than the session.
        return if (answer.isOlder) session.resumed() else Opening.Opened(session)
    }

    /** The versions that belong together. */
    public companion object {
        /** Of the server's API. */
        public const val API_VERSION: String = "0.1.0"
    }
}
