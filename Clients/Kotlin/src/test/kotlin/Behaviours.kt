// What the library does when a device signs in, starts again, or has no network. `test-page` runs it with the URL of a
// server that has `shop`.

package driver

import coordinator.client.ClientInfo
import coordinator.client.MemoryStorage
import coordinator.client.NavigationClient
import coordinator.client.NavigationEvent
import coordinator.client.NavigationSession
import coordinator.client.Opening
import coordinator.client.Outcome
import coordinator.client.SessionStorage
import coordinator.client.Settings
import coordinator.client.Settled
import coordinator.client.Settlement
import coordinator.client.Waiting
import java.io.IOException
import java.net.InetAddress
import java.net.ServerSocket
import java.net.Socket
import java.net.URI
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

fun main(arguments: Array<String>): Unit = runBlocking {
    val server = URI(arguments.single())
    val behaviours = mapOf<String, suspend (Network) -> Unit>(
        "After a sign-in, the session is followed with the new token at once" to ::followsAfterSignIn,
        "A session that was forgotten leaves the storage of the next one alone" to ::leavesTheStorage,
        "The storage has no payload, and an open tap is settled without it" to ::keepsKeysAlone,
        "What became of an unknown tap is said when there is a connection" to ::settlesLater,
        "A deadline counts in the queue, and a hanging connection is shown" to ::waitsNoLonger,
        "A connection that says nothing is left for another one" to ::leavesDeadConnections,
        "A wrong code leaves the session, the next one takes its place" to ::replacesWhenOpen,
        "What was cut off while it opened a session leaves the one before" to ::resumesTheOneBefore,
        "Without room in the storage a session goes on" to ::goesOnUnsaved,
        "A problem's words are the app's own, or the title" to ::hasWords,
    )
    val failures = behaviours.count { (name, behaviour) ->
        val result = runCatching { withTimeout(10.minutes) { behaviour(Network(server)) } }
        result.onFailure { println("$name: $it") }.isFailure
    }
    if (failures > 0) exitProcess(1)
    println("${behaviours.size} behaviours of the Kotlin library are as its page says")
    exitProcess(0)
}

private suspend fun followsAfterSignIn(network: Network): Unit = coroutineScope {
    val client = client(network)
    val session = opened(client.open("shop"))
    goToSignIn(session)
    launch { session.follow() }
    until("the first stream") { network.streams() >= 1 }
    val waits = waits(client)
    check(session.post(SIGN_IN) is Outcome.Done)
    until("the second stream") { network.streams() >= 2 }
    // Without a pause, it is an answer that has taken long.
    check(waits.none { it.pause > Duration.ZERO }) { "it has waited: $waits" }
    coroutineContext.cancelChildren()
}

private suspend fun leavesTheStorage(network: Network) {
    val storage = MemoryStorage()
    val client = client(network, storage)
    val before = opened(client.open("shop"))
    client.forget()
    check(before.post(PRODUCT) == Outcome.Over("forgotten")) { "the old session is not over" }
    check(storage.load() == null) { "the old session has saved itself" }
    val next = opened(client.open("shop"))
    val kept = storage.load()
    check(before.post(PRODUCT) == Outcome.Over("forgotten") && before.follow() == Outcome.Over("forgotten"))
    check(storage.load() == kept) { "the old session has overwritten the new one" }
    check(next.post(PRODUCT) is Outcome.Done)
}

private suspend fun keepsKeysAlone(network: Network) {
    val saved = ConcurrentLinkedQueue<String>()
    val storage = object : SessionStorage {
        override fun load(): String? = saved.lastOrNull()
        override fun save(text: String?) { saved += text.orEmpty() }
    }
    val session = opened(client(network, storage).open("shop"))
    goToSignIn(session)
    val count = saved.size
    check(session.post(SIGN_IN) is Outcome.Done)
    check(saved.none { "correct horse" in it }) { "the password is in the storage" }
    // As if the app had been killed before the answer.
    val killed = MemoryStorage().also { it.save(saved.elementAt(count)) }
    val settled = (client(network, killed).resume() as? Opening.Opened)?.settled
    check(settled == Settlement.CARRIED_OUT) { "it became $settled" }
}

private suspend fun settlesLater(network: Network): Unit = coroutineScope {
    val client = client(network)
    val session = opened(client.open("shop"))
    val said = ConcurrentLinkedQueue<Settled>()
    launch(Dispatchers.Unconfined) { session.settlements.collect { said += it } }
    launch { session.follow() }
    until("the stream") { network.streams() >= 1 }
    network.swallow()
    val outcome = session.post(PRODUCT, 1.seconds)
    check(outcome is Outcome.Withdrawn && outcome.settlement == Settlement.UNKNOWN) { "it is $outcome" }
    network.mend()
    client.retry()
    until("the settlement") { said.isNotEmpty() }
    check(said.toList() == listOf(Settled(outcome.key!!, Settlement.NOT_CARRIED_OUT))) { "said: $said" }
    coroutineContext.cancelChildren()
}

private suspend fun waitsNoLonger(network: Network): Unit = coroutineScope {
    val client = client(network)
    val session = opened(client.open("shop"))
    val waits = waits(client)
    network.swallow()
    launch { session.post(PRODUCT, 1.hours) }
    until("the first tap") { network.taps() >= 1 }
    // If its deadline began with its turn, this would hang.
    val queued = session.post(PRODUCT, 500.milliseconds)
    check(queued is Outcome.Withdrawn && queued.settlement == Settlement.NOT_CARRIED_OUT) { "it is $queued" }
    until("a hanging connection is shown") { waits.isNotEmpty() }
    check(waits.none { it.pause.isNegative() }) { "negative pauses: $waits" }
    coroutineContext.cancelChildren()
}

private suspend fun leavesDeadConnections(network: Network): Unit = coroutineScope {
    val client = client(network)
    val session = opened(client.open("shop"))
    val waits = waits(client)
    network.swallow()
    launch {
        until("the first attempt") { network.taps() >= 1 }
        network.hear()
    }
    check(session.post(PRODUCT) is Outcome.Done)
    // Said once while it was silent, and once before the next attempt.
    check(waits.map { it.status to (it.pause > Duration.ZERO) } == listOf(0 to false, 0 to true)) { "waits: $waits" }
    check(network.taps() == 2) { "${network.taps()} attempts" }
    coroutineContext.cancelChildren()
}

private suspend fun replacesWhenOpen(network: Network): Unit = coroutineScope {
    val storage = MemoryStorage()
    val client = client(network, storage)
    val session = opened(client.open("shop"))
    val kept = storage.load()
    val wrong = client.pair("00000000")
    check((wrong as? Opening.Refused)?.problem?.kind == "unknown-code") { "it is $wrong" }
    check(storage.load() == kept) { "the storage has changed" }
    check(session.post(PRODUCT) is Outcome.Done) { "the session is gone" }
    network.swallow()
    val cancelled = launch { client.open("shop") }
    until("what opens the next one") { network.openings() >= 2 }
    cancelled.cancelAndJoin()
    network.hear()
    check(storage.load() == kept) { "the storage has changed" }
    val next = opened(client.open("shop"))
    check(session.post(PRODUCT) == Outcome.Over("replaced") && session.follow() == Outcome.Over("replaced"))
    check(opened(client.resume()).id == next.id)
}

private suspend fun resumesTheOneBefore(network: Network) {
    val storage = MemoryStorage()
    val session = opened(client(network, storage).open("shop"))
    val cut = """"opening":{"key":"cut-off-before-it-was-sent","path":"/v1/sessions","body":"{\"app\":\"no-such-app\"}"}"""
    val kept = storage.load()!!
    storage.save(kept.replaceFirst("{", "{$cut,"))
    check(opened(client(network, storage).resume()).id == session.id)
    check(storage.load() == kept) { "the storage has ${storage.load()}" }
    storage.save("{$cut}")
    check(client(network, storage).resume() == null && storage.load() == null)
}

private suspend fun goesOnUnsaved(network: Network) {
    val full = object : SessionStorage {
        override fun load(): String? = null
        override fun save(text: String?) { throw IOException("the storage is full") }
    }
    val client = client(network, full)
    val session = opened(client.open("shop"))
    check(session.post(PRODUCT) is Outcome.Done)
    check(client.unsaved.value?.message == "the storage is full") { "said: ${client.unsaved.value}" }
}

private suspend fun hasWords(network: Network) {
    val words = listOf("de-AT", "en").map { locale ->
        val client = NavigationClient(network.url, MemoryStorage(), ClientInfo(locale), Settings(deadline = 1.hours))
        (opened(client.open("kiosk")).post(NavigationEvent("changeLanguage")) as? Outcome.Moved)?.problem?.words
    }
    check(words == listOf("Das geht gerade nicht.", "Event not accepted now")) { "said: $words" }
}

// What a user does, and what a test looks at.

private val PRODUCT = NavigationEvent("product", JsonObject(mapOf("id" to JsonPrimitive(42))))
private val SIGN_IN = NavigationEvent("submit", JsonObject(
    mapOf("email" to JsonPrimitive("ann@example.com"), "password" to JsonPrimitive("correct horse"))))

private suspend fun goToSignIn(session: NavigationSession) {
    for (event in listOf(PRODUCT, NavigationEvent("addToCart"), NavigationEvent.selectTab("cart"), NavigationEvent("checkout"))) {
        check(session.post(event) is Outcome.Done)
    }
}

/** A client whose taps have time. */
private fun client(network: Network, storage: SessionStorage = MemoryStorage()) =
    NavigationClient(network.url, storage, settings = Settings(deadline = 1.hours))

private fun opened(opening: Opening?): NavigationSession =
    (opening as? Opening.Opened)?.session ?: error("not opened: $opening")

/** All that requests have waited for from now on. */
private fun CoroutineScope.waits(client: NavigationClient): Collection<Waiting> {
    val waits = ConcurrentLinkedQueue<Waiting>()
    launch(Dispatchers.Unconfined) { client.waiting.collect { if (it != null) waits += it } }
    return waits
}

private suspend fun until(what: String, condition: () -> Boolean) {
    val isSo = withTimeoutOrNull(9.minutes) { while (!condition()) delay(5) }
    check(isSo != null) { "$what: not after minutes" }
}

/** A network between the app and the server, which can swallow everything without closing a connection. */
private class Network(private val server: URI) {
    private val listener = ServerSocket(0, 50, InetAddress.getLoopbackAddress())
    private val sockets = ConcurrentLinkedQueue<Socket>()
    private val sent = ConcurrentLinkedQueue<String>()
    @Volatile private var isSwallowing = false

    val url = URI("http://127.0.0.1:${listener.localPort}")

    init {
        thread(isDaemon = true) {
            while (true) {
                val near = listener.accept()
                val far = Socket(server.host, server.port)
                sockets += listOf(near, far)
                carry(near, far) { sent += it }
                carry(far, near) {}
            }
        }
    }

    /** How many streams were asked for. */
    fun streams(): Int = sent.count { "/updates" in it.substringBefore('\n') }

    /** How many sessions were to be opened. */
    fun openings(): Int = sent.count { it.startsWith("POST /v1/sessions?") }

    /** How many events were sent. */
    fun taps(): Int = sent.count { it.startsWith("POST") && "/events" in it.substringBefore('\n') }

    fun swallow() { isSwallowing = true }

    /** What was swallowed is lost; what comes now is carried. */
    fun hear() { isSwallowing = false }

    fun mend() {
        isSwallowing = false
        sockets.forEach(Socket::close)
    }

    private fun carry(from: Socket, to: Socket, onText: (String) -> Unit) = thread(isDaemon = true) {
        val bytes = ByteArray(65_536)
        runCatching {
            while (true) {
                val count = from.getInputStream().read(bytes)
                if (count < 0) break
                onText(bytes.decodeToString(0, count))
                if (!isSwallowing) to.getOutputStream().write(bytes, 0, count)
            }
        }
        from.close()
        to.close()
    }
}
