// What typed files use of the library `Clients/Kotlin`, so that they compile alone.
package coordinator.client

import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

class NavigationEvent(val type: String, val payload: JsonElement? = null)

class Screen(val key: String, val name: String, val title: String?, val params: JsonObject)
