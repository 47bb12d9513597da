// What the library does when a device signs in, starts again, or has no network. `test-page` runs it with the URL of a
// server that has `shop`.

package driver

import coordinator.client.MemoryStorage
import coordinator.client.NavigationClient
import coordinator.client.NavigationEvent
import coordinator.client.NavigationSession
import coordinator.client.Opening
import coordinator.client.Outcome
import coordinator.client.Waiting
import java.net.InetAddress
import java.net.ServerSocket
import java.net.Socket
import java.net.URI
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

fun main(arguments: Array<String>): Unit = runBlocking {
    val server = URI(arguments.single())
    val behaviours = mapOf<String, suspend (Network) -> Unit>(
        "After a sign-in, the session is followed with the new token at once" to ::followsAfterSignIn,
    )
    for ((name, behaviour) in behaviours) {
        try {
            withTimeoutOrNull(30.seconds) { behaviour(Network(server)) } ?: error("not after 30 s")
        } catch (error: IllegalStateException) {
            println("$name: ${error.message}")
            exitProcess(1)
        }
    }
    println("${behaviours.size} behaviours of the Kotlin library are as its page says")
    exitProcess(0)
}

private suspend fun followsAfterSignIn(network: Network): Unit = coroutineScope {
    val client = NavigationClient(network.url, MemoryStorage())
    val session = opened(client.open("shop"))
    goToSignIn(session)
    launch { session.follow() }
    until("the first stream") { network.streams() == 1 }
    val waits = waits(client)
    check(session.post(SIGN_IN) is Outcome.Done)
    until("the second stream", within = 400) { network.streams() == 2 }
    check(waits.isEmpty()) { "it has waited: $waits" }
    coroutineContext.cancelChildren()
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

private fun opened(opening: Opening?): NavigationSession =
    (opening as? Opening.Opened)?.session ?: error("not opened: $opening")

/** All that requests have waited for from now on. */
private fun CoroutineScope.waits(client: NavigationClient): Collection<Waiting> {
    val waits = ConcurrentLinkedQueue<Waiting>()
    launch(Dispatchers.Unconfined) { client.waiting.collect { if (it != null) waits += it } }
    return waits
}

private suspend fun until(what: String, within: Int = 10_000, condition: () -> Boolean) {
    val begun = TimeSource.Monotonic.markNow()
    while (!condition()) {
        check(begun.elapsedNow() < within.milliseconds) { "$what: not after $within ms" }
        delay(5)
    }
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

    fun swallow() { isSwallowing = true }

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
