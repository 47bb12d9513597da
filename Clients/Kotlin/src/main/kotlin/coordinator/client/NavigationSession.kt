package coordinator.client

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.SharedFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asSharedFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/**
 * A session, of which [state] is what to draw. Made by a [NavigationClient]. All functions may be called from any thread.
 *
 * One request is under way at a time, as the user's next step depends on the answer; others wait for their turn. An
 * event's key is saved before it is sent: what a killed app has left open, the next one settles before anything else.
 *
 * A client has one session: when it has opened or resumed another one, or forgets this one, posts here are [Outcome.Over]
 * with the reason `replaced` or `forgotten`.
 */
public class NavigationSession internal constructor(
    private val transport: Transport, private val storage: SharedStorage.Lease, private val settings: Settings,
    @Volatile private var saved: Saved,
) {
    /** The session's id. It is not secret. */
    public val id: String = saved.id

    private val turn = Mutex()
    private val lock = Any()
    @Volatile private var ended: Outcome.Over? = null
    private val over: Outcome.Over? get() = ended ?: storage.end?.let { Outcome.Over(it) }

    private lateinit var drawn: MutableStateFlow<NavigationState>
    /** The newest state of the server, and its entity tag. */
    private var known: NavigationState? = null
    private var tag: String? = null
    /** Contents by the keys of their screens, with their entity tags. */
    private val contents = HashMap<String, Pair<String, JsonObject>>()

    private val path = "/v1/sessions/$id"
    private val query = if (settings.includesControls) "?include=controls" else ""

    /** What to draw. No state is followed by an older one. */
    public val state: StateFlow<NavigationState> get() = drawn.asStateFlow()

    private val settledLater = MutableSharedFlow<Settled>(
        extraBufferCapacity = 16, onBufferOverflow = BufferOverflow.DROP_OLDEST)

    /** What became of taps whose outcome was [Settlement.UNKNOWN], or that were cancelled, when it becomes known. */
    public val settlements: SharedFlow<Settled> get() = settledLater.asSharedFlow()

    /**
     * Posts what the user has done on the visible screen, once, whatever happens on the way.
     *
     * To withdraw it before its deadline, cancel the coroutine, and call [settle] to know what became of it.
     *
     * @param deadline for how long it may wait, with its time in the queue; afterwards it is withdrawn, for which the
     * server is asked for up to 2 s more.
     * @param wait for how many seconds the answer may wait for the work that the event begins, up to 50.
     * @param version carries the event out on that version only; otherwise the outcome is [Outcome.Moved].
     * @param key that of [Outcome.AnswerFirst], if the event is posted again after it.
     * @param screen the key of the screen or alert on which the user has acted: the one that is drawn now, if it is left
     * out. A view names its own, so that a late tap cannot act on the screen that has taken its place.
     */
    public suspend fun post(
        event: NavigationEvent, deadline: Duration = settings.deadline, wait: Int = 0, version: Long? = null,
        key: String = newKey(), screen: String? = null,
    ): Outcome {
        // The screen or alert on which the user acts now, not the one that is shown when the turn comes.
        val place = (screen ?: state.value.alert?.key ?: state.value.visible.key).takeIf { event.type != "open" }
        val tapped = TimeSource.Monotonic.markNow()
        if (settings.drawsEarly && !turn.isLocked) drawEarly(event)
        try {
            return inTurn(deadline, { Outcome.Withdrawn(key, Settlement.NOT_CARRIED_OUT) }) {
                if (over == null) settled(deadline - tapped.elapsedNow())
                over ?: if (saved.open != null) Outcome.Withdrawn(key, Settlement.NOT_CARRIED_OUT) else {
                    val request = OpenRequest(key, "$path/events", body(event, place))
                    save(saved.copy(open = key))
                    val fields = version?.let { mapOf("If-Match" to "\"$it\"") }.orEmpty()
                    val left = deadline - tapped.elapsedNow()
                    val answer = transport.send(
                        "POST", request.path + query, saved.token, request, "session", left, wait, fields) { over != null }
                    outcome(answer, key)
                }
            }
        } finally {
            drawKnown()
        }
    }

    /** Opens a link that the system has handed over, whatever the user is doing. The server keeps it during an alert. */
    public suspend fun open(link: String): Outcome = post(NavigationEvent.open(link))

    /** Reads the state as it is now, as when the app comes to the front. */
    public suspend fun read(deadline: Duration = settings.deadline): Outcome = inTurn {
        settled(deadline)
        over ?: if (saved.open != null) Outcome.Withdrawn(null, Settlement.UNKNOWN) else readNow(deadline)
    }

    /** Withdraws the event that is still open, and returns what became of it; null if there is none. */
    public suspend fun settle(deadline: Duration = settings.deadline): Settlement? =
        inTurn(deadline, { saved.open?.let { Settlement.UNKNOWN } }) { settled(deadline) }

    /**
     * Follows the session, so that what others change is drawn, until it is over. Cancel the coroutine to stop, as when
     * the app goes to the background.
     *
     * @param isPolling asks for one change at a time, where a proxy lets no streams through.
     */
    public suspend fun follow(isPolling: Boolean = false): Outcome.Over = coroutineScope {
        followed(isPolling).also { coroutineContext.cancelChildren() }
    }

    private suspend fun CoroutineScope.followed(isPolling: Boolean): Outcome.Over {
        var failures = 0
        var retry = 0L
        while (true) {
            over?.let { return it }
            val token = saved.token
            var reason: String? = null
            val problem = if (isPolling) {
                val answer = transport.send(
                    "GET", path + query, token, member = "session", wait = 30,
                    fields = synchronized(lock) { tag?.let { mapOf("If-None-Match" to it) }.orEmpty() })
                if (answer is Answer.Done) {
                    settleLeftOver()
                    answer.json?.let { accept(it, answer.tag) }
                    failures = 0
                    continue
                }
                (answer as? Answer.Refused)?.problem
            } else {
                val messages = Messages { event, data, eventTag, pause ->
                    failures = 0
                    settleLeftOver()
                    retry = pause ?: retry
                    if (event == "state") parse(data)?.let { accept(it, eventTag) }
                    if (event == "end") reason = parse(data)?.text("reason")
                }
                transport.stream("$path/updates$query", token, synchronized(lock) { tag }, messages::read)
            }
            reason?.let { end(if (it.startsWith("token")) it else "session-$it", null, token) }
            if (problem?.isEnd == true) end(problem.kind, problem, token)
            over?.let { return it }
            // A request of this client has replaced the token, which ends the stream: there is nothing to wait for.
            if (saved.token != token) continue
            val pause = maxOf(backOff(failures++), retry.coerceAtMost(15_000).milliseconds)
            transport.pause(problem, problem?.retryAfter?.seconds ?: pause)
        }
    }

    /** What a screen with [Screen.hasContent] shows beside its state. Null if it is gone, or there is no connection. */
    public suspend fun content(screen: Screen): JsonObject? {
        val kept = synchronized(lock) { contents[screen.key] }
        val fields = kept?.let { mapOf("If-None-Match" to it.first) }.orEmpty()
        val answer = transport.send(
            "GET", "$path/screens/${screen.key}/content", saved.token, deadline = settings.deadline, fields = fields,
        ) as? Answer.Done
        if (answer?.json == null) return if (answer?.status == 304) kept?.second else null
        synchronized(lock) {
            val shown = known?.visibleStack?.map { it.key }.orEmpty()
            contents.keys.retainAll(shown.toSet())
            answer.tag?.let { contents[screen.key] = it to answer.json }
        }
        return answer.json
    }

    /** Asks for a code with which another device can join, in one of the app's roles. Null if there is none now. */
    public suspend fun pairingCode(label: String? = null, role: String? = null): PairingCode? {
        val members = listOf("label" to label, "role" to role).filter { it.second != null }
        val body = JsonObject(members.associate { (name, value) -> name to JsonPrimitive(value) })
        val request = OpenRequest(newKey(), "$path/pairings", body.toString())
        val answer = transport.send("POST", request.path, saved.token, request, "code", settings.deadline)
        return (answer as? Answer.Done)?.json?.let(::PairingCode)
    }

    /** The devices that take part in the session. */
    public suspend fun devices(): List<Device> {
        val answer = transport.send("GET", "$path/tokens", saved.token, member = "tokens", deadline = settings.deadline)
        return (answer as? Answer.Done)?.json?.children("tokens")?.map(::Device).orEmpty()
    }

    /** Takes the session away from a device. Returns whether the device has it no more. */
    public suspend fun revoke(device: Device): Boolean =
        isGone(transport.send("DELETE", "$path/tokens/${device.number}", saved.token, deadline = settings.deadline))

    /** Ends the session for all its devices, for good. Returns whether it is over. */
    public suspend fun end(): Boolean = inTurn {
        isGone(transport.send("DELETE", path, saved.token, deadline = settings.deadline)).also { isGone ->
            if (isGone) ended = ended ?: Outcome.Over("session-ended")
        }
    }

    private fun isGone(answer: Answer) =
        answer is Answer.Done || answer is Answer.Refused && answer.problem.status in listOf(404, 410)

    /** With its first state. */
    internal fun begun(state: JsonObject, tag: String?) = also { accept(state, tag) }

    /** Settles what was left open, and reads the state. */
    internal suspend fun resumed(): Opening = inTurn {
        val settled = settled(settings.deadline)
        val outcome = over ?: if (saved.open != null) null else readNow(settings.deadline)
        when (outcome) {
            is Outcome.Done -> Opening.Opened(this, settled)
            is Outcome.Over -> Opening.Over(outcome.reason, outcome.problem)
            is Outcome.Refused -> Opening.Refused(outcome.problem)
            else -> Opening.Unreachable
        }
    }

    // What is done in turn: the storage and the network block no thread of the app's.

    private suspend fun <T> inTurn(work: suspend () -> T): T = withContext(Dispatchers.IO) { turn.withLock { work() } }

    /** What [late] says, if it is not this request's turn before the deadline. */
    private suspend fun <T> inTurn(deadline: Duration, late: () -> T, work: suspend () -> T): T =
        withContext(Dispatchers.IO) {
            val owner = Any()
            try {
                withTimeoutOrNull(deadline) { turn.lock(owner) }
                if (turn.holdsLock(owner)) work() else late()
            } finally {
                if (turn.holdsLock(owner)) turn.unlock(owner)
            }
        }

    private suspend fun readNow(deadline: Duration): Outcome = when (
        val answer = transport.send("GET", path + query, saved.token, member = "session", deadline = deadline)
    ) {
        is Answer.Done -> {
            answer.json?.let { accept(it, answer.tag) }
            Outcome.Done(known!!)
        }
        is Answer.Refused -> refused(answer.problem, null)
        is Answer.Open -> Outcome.Withdrawn(null, Settlement.UNKNOWN, answer.problem)
    }

    private suspend fun outcome(answer: Answer, key: String): Outcome = when (answer) {
        is Answer.Done -> {
            carriedOut(answer)
            over ?: Outcome.Done(known!!, answer.json?.child("pairing")?.let(::PairingCode))
        }
        is Answer.Refused -> refused(answer.problem, key)
        is Answer.Open -> {
            val settlement = withdrawn(key, 2.seconds)
            over ?: Outcome.Withdrawn(key, settlement, answer.problem)
        }
    }

    private suspend fun carriedOut(answer: Answer.Done) {
        accept(answer.json!!, answer.tag)
        save(saved.copy(open = null))
        // The answer to a repeated event may be older than the session.
        if (answer.isOlder) readNow(settings.deadline)
    }

    private suspend fun refused(problem: Problem, key: String?): Outcome {
        if (problem.isEnd) {
            return (ended ?: Outcome.Over(problem.kind, problem)).also { ended = it }
        }
        if (key != null) save(saved.copy(open = null))
        val current = problem.json.child("state")?.also { accept(it, null) }
        return when {
            problem.kind == "answer-forgotten" -> readNow(settings.deadline)
            problem.status == 422 -> Outcome.Invalid(problem.faults, problem)
            current == null -> Outcome.Refused(problem)
            problem.kind == "answer-first" && key != null -> Outcome.AnswerFirst(known!!, key)
            else -> Outcome.Moved(known!!, problem)
        }
    }

    /** There is a connection again: settles what was left open without one. */
    private fun CoroutineScope.settleLeftOver() {
        if (saved.open != null && !turn.isLocked) launch { settle() }
    }

    /** Settles the event that is open, and says so to [settlements]. */
    private suspend fun settled(deadline: Duration): Settlement? {
        val open = saved.open ?: return null
        return withdrawn(open, deadline).also { if (saved.open == null) settledLater.tryEmit(Settled(open, it)) }
    }

    /** Withdraws an event: it is not carried out from now on, however late it arrives. */
    private suspend fun withdrawn(open: String, deadline: Duration): Settlement {
        val answer = transport.send("DELETE", "$path/outcomes/$open", saved.token, deadline = deadline)
        when (answer) {
            is Answer.Done -> {
                if (answer.json == null) return Settlement.NOT_CARRIED_OUT.also { save(saved.copy(open = null)) }
                carriedOut(answer)
                return Settlement.CARRIED_OUT
            }
            is Answer.Refused -> {
                // Another problem than that the session is over will not get better.
                refused(answer.problem, open)
                return if (answer.problem.kind == "answer-forgotten") Settlement.CARRIED_OUT else Settlement.UNKNOWN
            }
            is Answer.Open -> return Settlement.UNKNOWN
        }
    }

    /** The session is over, unless that is said of a token that a request of this client has replaced, or may have. */
    private suspend fun end(reason: String, problem: Problem?, token: String) = inTurn {
        settled(settings.deadline)
        val isReplaced = token != saved.token || saved.open != null && reason in listOf("token-replaced", "unauthorized")
        if (!isReplaced) ended = ended ?: Outcome.Over(reason, problem)
    }

    // What is drawn.

    /** Keeps a new token before anything is drawn, and draws no state that is older than the one that is drawn. */
    private fun accept(json: JsonObject, nextTag: String?) = synchronized(lock) {
        val next = NavigationState.of(json) ?: return@synchronized
        json.text("token")?.let { save(saved.copy(token = it, open = null)) }
        val version = known?.version ?: 0
        // The same version has another tag while another build of the server draws it.
        if (next.version < version || next.version == version && (nextTag == null || nextTag == tag)) return@synchronized
        known = next
        tag = nextTag
        if (::drawn.isInitialized) drawn.value = next else drawn = MutableStateFlow(next)
    }

    private fun drawEarly(event: NavigationEvent) = synchronized(lock) {
        known?.takeIf { it === drawn.value }?.predicted(event)?.let { drawn.value = it }
    }

    /** Draws what the server has said, if something else was drawn early. */
    private fun drawKnown() = synchronized(lock) {
        known?.let { if (drawn.value !== it) drawn.value = it }
    }

    private fun save(next: Saved) = synchronized(lock) {
        if (next != saved) storage.save(next)
        saved = next
    }
}

private fun body(event: NavigationEvent, screen: String?): String = JsonObject(buildMap<String, JsonElement> {
    put("type", JsonPrimitive(event.type))
    event.payload?.let { put("payload", it) }
    screen?.let { put("screen", JsonPrimitive(it)) }
}).toString()

/** Puts the lines of a stream together, as the HTML standard says in section 9.2. */
private class Messages(private val onMessage: (event: String, data: String, tag: String?, retry: Long?) -> Unit) {
    private var event = "message"
    private var data = ""
    private var tag: String? = null
    private var retry: Long? = null

    fun read(line: String) {
        if (line.isEmpty()) {
            onMessage(event, data, tag, retry)
            event = "message"
            data = ""
            return
        }
        val value = line.substringAfter(':', "").removePrefix(" ")
        when (line.substringBefore(':')) {
            "event" -> event = value
            "data" -> data += value
            "id" -> tag = value
            "retry" -> retry = value.toLongOrNull()
        }
    }
}
