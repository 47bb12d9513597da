// Walks `shop` to the receipt as a user would: each step is chosen from what is drawn. Tests/Clients/libraries.py has
// what it prints. It uses what is public alone.

package driver

import coordinator.client.FileStorage
import coordinator.client.NavigationClient
import coordinator.client.NavigationEvent
import coordinator.client.NavigationSession
import coordinator.client.NavigationState
import coordinator.client.Opening
import coordinator.client.Outcome
import coordinator.client.Settings
import coordinator.client.predicted
import java.net.URI
import java.nio.file.Path
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.distinctUntilChangedBy
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put

fun main(arguments: Array<String>): Unit = runBlocking {
    val options = arguments.toList().zipWithNext().toMap()
    when (arguments.first()) {
        "walk" -> walk(options, "--early" in arguments)
        "predict" -> generateSequence(::readLine).forEach { println(predict(Json.parseToJsonElement(it).jsonObject)) }
    }
    exitProcess(0)
}

private suspend fun walk(options: Map<String, String>, drawsEarly: Boolean) {
    val settings = Settings(deadline = (options["--deadline"] ?: "3600").toDouble().seconds, drawsEarly = drawsEarly)
    val client = NavigationClient(
        URI(options.getValue("--server")), FileStorage(Path.of(options.getValue("--storage"), "session")),
        settings = settings)
    // As a system does that knows when there is a network.
    thread(isDaemon = true) {
        while (true) {
            Thread.sleep(2_000)
            client.retry()
        }
    }
    var opening: Opening = Opening.Unreachable
    while (opening is Opening.Unreachable) {
        opening = client.resume() ?: options["--code"]?.let { client.pair(it) } ?: client.open("shop")
    }
    val session = when (opening) {
        is Opening.Opened -> opening.session
        is Opening.Over -> finish(4, "ended", opening.reason)
        is Opening.Refused -> finish(3, "failed", opening.problem.detail)
    }
    coroutineScope {
        // Each state is drawn before the next step.
        launch(Dispatchers.Unconfined) { session.state.distinctUntilChangedBy(::line).collect { println(line(it)) } }
        // Both ways of following are tried: without streams if there is a deadline.
        launch { session.follow(isPolling = "--deadline" in options).let { finish(4, "ended", it.reason) } }
        while (session.state.value.visible.name != "receipt") step(session)
        println(buildJsonObject {
            put("done", true)
            put("visible", "receipt")
            put("session", session.id)
        })
        exitProcess(0)
    }
}

private fun line(state: NavigationState) = buildJsonObject {
    put("version", state.version)
    put("visible", state.visible.name)
    put("early", state.isEarly)
}

private suspend fun step(session: NavigationSession) {
    val state = session.state.value
    // Without an event, the payment is under way: another state comes by itself.
    val event = next(state) ?: return session.state.first { it !== state }.let {}
    when (val outcome = session.post(event)) {
        is Outcome.Done, is Outcome.Moved, is Outcome.AnswerFirst -> {}
        is Outcome.Withdrawn -> println(buildJsonObject {
            put("withdrawn", outcome.key)
            put("outcome", outcome.settlement.name.lowercase().replace('_', '-'))
        })
        is Outcome.Over -> finish(4, "ended", outcome.reason)
        is Outcome.Invalid -> finish(3, "failed", outcome.problem.detail)
        is Outcome.Refused -> finish(3, "failed", outcome.problem.detail)
    }
}

/** What a user does on this screen to buy product 42. */
private fun next(state: NavigationState): NavigationEvent? {
    state.alert?.let { return NavigationEvent.answer(it, it.buttons.last()) }
    return when (state.visible.name) {
        "home", "notFound" ->
            if (cart(state) > 0) NavigationEvent.selectTab("cart") else NavigationEvent("product", number("id", 42))
        "product" -> if (cart(state) > 0) NavigationEvent.selectTab("cart") else NavigationEvent("addToCart")
        "cart" -> if (cart(state) > 0) NavigationEvent("checkout") else NavigationEvent.selectTab("home")
        "search" -> NavigationEvent.selectTab("home")
        "signIn" -> NavigationEvent("submit", texts("email" to "ann@example.com", "password" to "correct horse"))
        "address" -> NavigationEvent("submitAddress", texts("street" to "1 Main Street", "city" to "Springfield"))
        "payment" -> NavigationEvent("pay", texts("card" to "4242 4242 4242 4242"))
        else -> null
    }
}

/** How many items the badge of the cart says. */
private fun cart(state: NavigationState): Int =
    state.stack.first().tabs?.items?.find { it.id == "cart" }?.badge?.toInt() ?: 0

private fun number(name: String, value: Int) = JsonObject(mapOf(name to JsonPrimitive(value)))
private fun texts(vararg members: Pair<String, String>) =
    JsonObject(members.associate { (name, value) -> name to JsonPrimitive(value) })

private fun predict(line: JsonObject): JsonElement {
    val event = line.getValue("event").jsonObject
    val state = NavigationState.of(line.getValue("state").jsonObject)!!
    val type = event.getValue("type").jsonPrimitive.content
    val next = state.predicted(NavigationEvent(type, event["payload"])) ?: return JsonNull
    return buildJsonObject {
        put("visible", next.visible.key)
        put("stack", JsonArray(next.visibleStack.map { JsonPrimitive(it.key) }))
        put("tab", next.selectedTab)
    }
}

private fun finish(code: Int, what: String, why: String): Nothing {
    println(buildJsonObject { put(what, why) })
    exitProcess(code)
}
