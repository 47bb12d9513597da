// Walks `shop` to the receipt as a user would: each step is chosen from what is drawn. Tests/Clients/libraries.py has
// what it prints. `marks` posts what Tests/Servers/library.py says. It uses what is public alone.

package driver

import coordinator.client.FileStorage
import coordinator.client.NavigationClient
import coordinator.client.NavigationEvent
import coordinator.client.NavigationSession
import coordinator.client.NavigationState
import coordinator.client.Opening
import coordinator.client.Outcome
import coordinator.client.Settings
import coordinator.client.Settlement
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
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put

fun main(arguments: Array<String>): Unit = runBlocking {
    val options = arguments.toList().zipWithNext().toMap()
    when (arguments.first()) {
        "walk" -> walk(options, "--early" in arguments)
        "marks" -> marks(options)
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

/** Posts the events that come line by line, and prints each state that is drawn and each outcome. */
private suspend fun marks(options: Map<String, String>): Unit = coroutineScope {
    val client = NavigationClient(
        URI(options.getValue("--server")), FileStorage(Path.of(options.getValue("--storage"), "session")))
    var opening: Opening = Opening.Unreachable
    while (opening is Opening.Unreachable) opening = client.resume() ?: client.pair(options.getValue("--code"))
    val (session, settled) = when (opening) {
        is Opening.Opened -> opening
        is Opening.Over -> finish(4, "ended", opening.reason)
        is Opening.Refused -> finish(3, "failed", opening.problem.detail)
    }
    println(buildJsonObject { put("ready", settled?.let(::name) ?: "new") })
    launch(Dispatchers.Unconfined) {
        session.state.collect { println(buildJsonObject { put("drawn", logs(it)) }) }
    }
    launch { session.settlements.collect { println(buildJsonObject { put("settled", name(it.settlement)) }) } }
    launch { session.follow().let { finish(4, "ended", it.reason) } }
    while (true) {
        val event = Json.parseToJsonElement(withContext(Dispatchers.IO) { readlnOrNull() } ?: exitProcess(0)).jsonObject
        val type = event.getValue("type").jsonPrimitive.content
        val deadline = event["deadline"]?.jsonPrimitive?.int ?: 30
        println(report(session.post(NavigationEvent(type, event["payload"]), deadline = deadline.seconds)))
    }
}

private fun logs(state: NavigationState) = buildJsonObject {
    val logs = state.stack.first().tabs!!.items.map { it.stack.first().params.getValue("log") }
    put("version", state.version)
    put("log", logs[0])
    put("copy", logs[1])
}

private fun name(settlement: Settlement) = settlement.name.lowercase().replace('_', '-')

private fun report(outcome: Outcome) = buildJsonObject {
    put("outcome", when (outcome) {
        is Outcome.Done -> "accepted"
        is Outcome.Withdrawn -> name(outcome.settlement)
        is Outcome.Over -> "ended"
        else -> "failed"
    })
    when (outcome) {
        is Outcome.Done -> put("state", logs(outcome.state))
        is Outcome.Refused -> put("problem", outcome.problem.kind)
        is Outcome.Invalid -> put("problem", outcome.problem.kind)
        is Outcome.Moved -> put("problem", outcome.problem.kind)
        else -> {}
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
            put("outcome", name(outcome.settlement))
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
