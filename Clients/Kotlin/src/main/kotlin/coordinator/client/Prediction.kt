package coordinator.client

import kotlinx.serialization.json.JsonObject

/**
 * The state as it is drawn before the answer to an event is there, or null if only the server knows.
 *
 * A client knows the stacks of all tabs and what `back` does, but neither the events of the screen that comes back nor
 * what the app does besides: an early state has no controls but the tabs. Nothing is known while an alert is shown, or
 * where the app asks first.
 */
public fun NavigationState.predicted(event: NavigationEvent): NavigationState? {
    if (alert != null || back?.asks == true || event.type !in events) return null
    return when (event.type) {
        "back" -> when (back?.effect) {
            "pop" -> inFront { popped(it, back.to) }
            "dismiss" -> dismissed(presented.lastOrNull())
            "selectTab" -> inFront { selected(it) { tab -> innermost(tab.stack).lastOrNull()?.key == back.to } }
            else -> null
        }?.takeIf { it.visible.key == back?.to }
        "selectTab" -> {
            val payload = event.payload as? JsonObject
            val index = payload?.number("index")?.toInt()
            inFront { stack ->
                // Which of several tab bars is meant, the server knows.
                val tabs = stack.tabs().singleOrNull() ?: return@inFront null
                val id = payload?.text("tab") ?: index?.let(tabs.items::getOrNull)?.id ?: return@inFront null
                if (id == tabs.selected) rooted(stack) else selected(stack) { it.id == id }
            }
        }
        "dismiss" -> {
            val key = (event.payload as? JsonObject)?.text("key")
            dismissed(if (key == null) presented.lastOrNull() else presented.find { it.key == key })
        }
        else -> null
    }
}

private fun NavigationState.early(stack: List<Screen>, presented: List<PresentedFlow>): NavigationState? {
    val visible = innermost(presented.lastOrNull()?.stack ?: stack).lastOrNull() ?: return null
    return copy(
        visible = visible, stack = stack, presented = presented, back = null, operations = null, isEarly = true,
        events = events.filter { it == "selectTab" }, controls = controls.filter { it.place == "tabBar" })
}

/** With a change of the stack in front. */
private fun NavigationState.inFront(change: (List<Screen>) -> List<Screen>?): NavigationState? {
    val flow = presented.lastOrNull() ?: return early(change(stack) ?: return null, presented)
    return early(stack, presented.dropLast(1) + flow.copy(stack = change(flow.stack) ?: return null))
}

private fun NavigationState.dismissed(flow: PresentedFlow?): NavigationState? {
    val index = presented.indexOf(flow ?: return null)
    if (presented.drop(index).any { !it.isDismissable || it.asks }) return null
    return early(stack, presented.take(index))
}

/** Pops the innermost stack down to a screen. */
private fun popped(stack: List<Screen>, to: String?): List<Screen>? =
    changed(stack) { inner -> inner.indexOfFirst { it.key == to }.takeIf { it >= 0 }?.let { inner.take(it + 1) } }
        // The screen that is left may have the tabs itself.
        ?: stack.dropLast(1).takeIf { innermost(it).lastOrNull()?.key == to }

/** Pops the stack of the selected tab to its first screen. */
private fun rooted(stack: List<Screen>): List<Screen>? = changed(stack) { it.take(1) }

/** Selects another tab of the innermost tabs. */
private fun selected(stack: List<Screen>, isMeant: (TabItem) -> Boolean): List<Screen>? {
    val screen = stack.lastOrNull() ?: return null
    val tabs = screen.tabs ?: return null
    val inner = inTab(tabs) { selected(it, isMeant) }
    val meant = tabs.items.find(isMeant)
    val next = inner ?: meant?.let { tabs.copy(selected = it.id) } ?: return null
    return stack.dropLast(1) + screen.copy(tabs = next)
}

private fun changed(stack: List<Screen>, change: (List<Screen>) -> List<Screen>?): List<Screen>? {
    val screen = stack.lastOrNull() ?: return null
    val tabs = screen.tabs ?: return change(stack)
    return stack.dropLast(1) + screen.copy(tabs = inTab(tabs) { changed(it, change) } ?: return null)
}

private fun inTab(tabs: Tabs, change: (List<Screen>) -> List<Screen>?): Tabs? {
    val stack = change(tabs.items.find { it.id == tabs.selected }?.stack ?: return null) ?: return null
    return tabs.copy(items = tabs.items.map { if (it.id == tabs.selected) it.copy(stack = stack) else it })
}
