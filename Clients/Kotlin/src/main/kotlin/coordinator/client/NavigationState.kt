package coordinator.client

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.longOrNull

/**
 * What the user sees, and what may happen next. Draw it as a whole: [stack], over it the flows of [presented], over all
 * the [alert].
 *
 * Members that this library does not know are in [json], as the server sent them, with every digit of their numbers.
 */
public data class NavigationState(
    /** The session's id, which is not secret. */
    val id: String,
    /** The app's name. */
    val app: String,
    /** One more for each change. */
    val version: Long,
    /** When the session expires unless it is used before, as the server writes times: `2026-11-26T08:00:00Z`. */
    val expiresAt: String,
    /** The screen in front. */
    val visible: Screen,
    /** Screens on top of each other, bottom first. */
    val stack: List<Screen>,
    /** The flows over [stack], each over the one before. */
    val presented: List<PresentedFlow>,
    /** Over everything. Answer it with [NavigationEvent.answer]. */
    val alert: Alert?,
    /** What [NavigationEvent.back] does. Without it there is no back button. */
    val back: Back?,
    /** The types of events that are accepted now. */
    val events: List<String>,
    /** What is needed to draw [events] as buttons and forms. */
    val controls: List<Control>,
    /** The work in the background, by its name: draw a discreet spinner. */
    val pending: List<String>,
    /** The changes that led here, for animations: draw without one if this is null. */
    val operations: List<ScreenOperation>?,
    /** Whether the server has yet to say so: drawn at once after a tap, see [Settings.drawsEarly]. */
    val isEarly: Boolean = false,
    /** All that the server sent. */
    val json: JsonObject,
) {
    /** The innermost stack with the visible screen: [stack], or that of a flow or a tab. */
    public val visibleStack: List<Screen> get() = innermost(presented.lastOrNull()?.stack ?: stack)

    /** The id of the tab that is selected around the visible screen. */
    public val selectedTab: String? get() = (presented.lastOrNull()?.stack ?: stack).tabs().lastOrNull()?.selected

    /** The controls of the visible screen, in the order in which they are drawn, without those that are built in. */
    public val screenControls: List<Control> get() = controls.filter { it.place == "screen" && it.coordinator != null }

    public companion object {
        /** A state as the server wrote it, for previews and tests; null if this is none. */
        public fun of(json: JsonObject): NavigationState? {
            val session = json.child("session") ?: return null
            return NavigationState(
                id = session.text("id") ?: return null,
                app = session.text("app").orEmpty(),
                version = session.number("version") ?: return null,
                expiresAt = session.text("expiresAt").orEmpty(),
                visible = Screen(json.child("visible") ?: return null),
                stack = json.children("stack").map(::Screen),
                presented = json.children("presented").map(::PresentedFlow),
                alert = json.child("alert")?.let(::Alert),
                back = json.child("back")?.let(::Back),
                events = json.texts("events"),
                controls = json.children("controls").map(::Control),
                pending = json.children("pending").mapNotNull { it.text("effect") },
                operations = json.child("transition")?.children("operations")?.map(::ScreenOperation),
                json = json,
            )
        }
    }
}

/** A screen: its [name] says how to draw it, and [params] with what. */
public data class Screen(
    /** Unique in the session, and never used again. */
    val key: String,
    val name: String,
    val title: String?,
    val params: JsonObject,
    /** The path that opens this screen again. */
    val link: String?,
    val hidesNavigationBar: Boolean,
    /** Whether [NavigationSession.content] has more to show; again when [contentVersion] differs. */
    val hasContent: Boolean,
    val contentVersion: Int?,
    /** Buttons that post a payload as it stands. */
    val buttons: List<ScreenButton>,
    /** A list, in the order in which it is drawn. */
    val rows: List<ScreenRow>,
    /** The tabs that the screen consists of. */
    val tabs: Tabs?,
    val json: JsonObject,
) {
    internal constructor(json: JsonObject) : this(
        key = json.text("key").orEmpty(),
        name = json.text("name").orEmpty(),
        title = json.text("title"),
        params = json.child("params") ?: JsonObject(emptyMap()),
        link = json.text("link"),
        hidesNavigationBar = json.flag("hidesNavigationBar") ?: false,
        hasContent = json.flag("hasContent") ?: false,
        contentVersion = json.number("contentVersion")?.toInt(),
        buttons = json.children("buttons").map(::ScreenButton),
        rows = json.children("rows").map(::ScreenRow),
        tabs = json.child("tabs")?.let(::Tabs),
        json = json,
    )
}

/** A button of a screen: a tap posts [event]. */
public data class ScreenButton(
    val title: String?, val role: String?, val isEnabled: Boolean, val event: NavigationEvent,
) {
    internal constructor(json: JsonObject) : this(
        json.text("title"), json.text("role"), json.flag("isEnabled") ?: true,
        NavigationEvent(json.text("type").orEmpty(), json["payload"]))
}

/** A row of a list: a tap posts [event]; without one it is only text. [isSelected] is null in a list without marks. */
public data class ScreenRow(
    val title: String, val detail: String?, val isSelected: Boolean?, val isEnabled: Boolean, val event: NavigationEvent?,
) {
    internal constructor(json: JsonObject) : this(
        json.text("title").orEmpty(), json.text("detail"), json.flag("isSelected"), json.flag("isEnabled") ?: true,
        json.text("type")?.let { NavigationEvent(it, json["payload"]) })
}

/** The tabs of a screen. [items] have a stack each; that of the [selected] one is in front. */
public data class Tabs(val selected: String, val items: List<TabItem>) {
    internal constructor(json: JsonObject) : this(json.text("selected").orEmpty(), json.children("items").map(::TabItem))
}

/** A tab. */
public data class TabItem(
    val id: String, val title: String, val icon: String?, val badge: String?, val stack: List<Screen>,
) {
    internal constructor(json: JsonObject) : this(
        json.text("id").orEmpty(), json.text("title").orEmpty(), json.text("icon"), json.text("badge"),
        json.children("stack").map(::Screen))
}

/** A flow over everything below it. [style] is `sheet` or `fullScreen`, [detent] how high a sheet opens. */
public data class PresentedFlow(
    val key: String, val style: String, val detent: String?, val isDismissable: Boolean, val asks: Boolean,
    val stack: List<Screen>,
) {
    internal constructor(json: JsonObject) : this(
        json.text("key").orEmpty(), json.text("style").orEmpty(), json.text("detent"),
        json.flag("isDismissable") ?: true, json.flag("asks") ?: false, json.children("stack").map(::Screen))
}

/** A question, or something to know. */
public data class Alert(val key: String, val title: String, val message: String?, val buttons: List<AlertButton>) {
    internal constructor(json: JsonObject) : this(
        json.text("key").orEmpty(), json.text("title").orEmpty(), json.text("message"),
        json.children("buttons").map {
            AlertButton(
                it.text("id").orEmpty(), it.text("title").orEmpty(), it.text("role"), it.flag("isEnabled") ?: true)
        })
}

/** A button of an alert. [role] is `cancel`, `destructive` or null. It is not enabled if it is for devices of other roles. */
public data class AlertButton(val id: String, val title: String, val role: String?, val isEnabled: Boolean)

/** What `back` does: [effect] is `pop`, `dismiss`, `selectTab` or `dismissAlert`. */
public data class Back(
    val effect: String,
    /** The key of the screen that is visible then. */
    val to: String?,
    /** Whether an alert asks the user first. */
    val asks: Boolean,
) {
    internal constructor(json: JsonObject) : this(
        json.text("effect").orEmpty(), json.text("to"), json.flag("asks") ?: false)
}

/**
 * A visible change. [op] is `push`, `pop`, `update`, `replace`, `present`, `dismiss`, `selectTab`, `alert` or
 * `dismissAlert`.
 */
public data class ScreenOperation(
    val op: String, val key: String, val stack: String?, val replaced: String?, val style: String?, val tab: String?,
) {
    internal constructor(json: JsonObject) : this(
        json.text("op").orEmpty(), json.text("key").orEmpty(), json.text("stack"), json.text("replaced"),
        json.text("style"), json.text("tab"))
}

/**
 * An event that is accepted now, as a button or, with a [schema] and no [payload], as a form: JSON Schema says which
 * fields. [role] says how it looks (`primary`, `secondary`, `destructive`, `navigation`, `input`), [place] where it is
 * (`screen`, `tabBar`, `alert`, `app`).
 */
public data class Control(
    val type: String, val title: String, val role: String, val place: String, val coordinator: String?,
    val payload: JsonElement?, val schema: JsonObject?, val example: JsonElement?,
) {
    internal constructor(json: JsonObject) : this(
        json.text("type").orEmpty(), json.text("title").orEmpty(), json.text("role").orEmpty(),
        json.text("place").orEmpty(), json.text("coordinator"), json["payload"], json.child("schema"), json["example"])

    /** What a tap posts. */
    public val event: NavigationEvent get() = NavigationEvent(type, payload)
}

/** Something that the user did. The payload is an object with the event's fields, or its single value. */
public data class NavigationEvent(val type: String, val payload: JsonElement? = null) {
    /** The events that every app knows. */
    public companion object {
        /** What [NavigationState.back] says. */
        public val back: NavigationEvent = NavigationEvent("back")

        /** Dismisses the flow in front, or the one with that key and all above it. */
        public fun dismiss(flow: String? = null): NavigationEvent =
            NavigationEvent("dismiss", flow?.let { member("key", it) })

        /** Selects a tab; the selected one returns to its first screen. */
        public fun selectTab(id: String): NavigationEvent = NavigationEvent("selectTab", member("tab", id))

        /** Presses a button of this alert, and of no other one. */
        public fun answer(alert: Alert, button: AlertButton): NavigationEvent =
            NavigationEvent("answer", JsonObject(member("button", button.id) + member("alert", alert.key)))

        /** Opens a link, a path or a URL. While an alert is shown, the server keeps it until the answer. */
        public fun open(link: String): NavigationEvent = NavigationEvent("open", member("path", link))

        private fun member(name: String, value: String) = JsonObject(mapOf(name to JsonPrimitive(value)))
    }
}

internal tailrec fun innermost(stack: List<Screen>): List<Screen> {
    val tabs = stack.lastOrNull()?.tabs ?: return stack
    return innermost(tabs.items.firstOrNull { it.id == tabs.selected }?.stack ?: return stack)
}

/** The tabs around the visible screen of a stack, outermost first. */
internal fun List<Screen>.tabs(): List<Tabs> {
    val tabs = lastOrNull()?.tabs ?: return emptyList()
    return listOf(tabs) + tabs.items.firstOrNull { it.id == tabs.selected }?.stack.orEmpty().tabs()
}

// Absent and of another type than expected are the same: an answer gets more members over time.
internal fun JsonObject.child(name: String) = get(name) as? JsonObject
internal fun JsonObject.children(name: String) = (get(name) as? JsonArray)?.filterIsInstance<JsonObject>().orEmpty()
internal fun JsonObject.text(name: String) = (get(name) as? JsonPrimitive)?.takeIf { it.isString }?.contentOrNull
internal fun JsonObject.texts(name: String) =
    (get(name) as? JsonArray)?.mapNotNull { (it as? JsonPrimitive)?.contentOrNull }.orEmpty()
internal fun JsonObject.number(name: String) = (get(name) as? JsonPrimitive)?.longOrNull
internal fun JsonObject.flag(name: String) = (get(name) as? JsonPrimitive)?.booleanOrNull
