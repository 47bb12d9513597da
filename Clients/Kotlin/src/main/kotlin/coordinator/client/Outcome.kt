package coordinator.client

import kotlinx.serialization.json.JsonObject

/** What became of a request that the user made. `when` over it is complete. */
public sealed interface Outcome {
    /** Carried out. [pairing] is a code to show, if the app gives one out for another device. */
    public data class Done(val state: NavigationState, val pairing: PairingCode? = null) : Outcome

    /** The payload does not fit (422): show each fault at its field, or the [Problem.title] if there is none. */
    public data class Invalid(val faults: List<Fault>, val problem: Problem) : Outcome

    /** The app is elsewhere (409, 412), where [state] says, which is drawn already: let the user decide again. */
    public data class Moved(val state: NavigationState, val problem: Problem) : Outcome

    /**
     * The app asks first, with the alert of [state] (409 `answer-first`). Keep the event. When the user has answered with
     * another button than the one whose role is `cancel`, post it again with this [key].
     */
    public data class AnswerFirst(val state: NavigationState, val key: String) : Outcome

    /** Refused for another reason, such as a limit or a failure of the app (500). Nothing has changed. */
    public data class Refused(val problem: Problem) : Outcome

    /**
     * The deadline passed before the outcome was known; the event is not sent again. [settlement] says what became of it.
     * [key] is null if it was only a reading. [problem] is why the server had it wait, if it did.
     */
    public data class Withdrawn(val key: String?, val settlement: Settlement, val problem: Problem? = null) : Outcome

    /** The session is over for this client. Offer to start again with [NavigationClient.open]. */
    public data class Over(val reason: String, val problem: Problem? = null) : Outcome {
        /** Another device has revoked this one, or signed in. */
        public val isRevoked: Boolean get() = reason == "token-revoked" || reason == "token-replaced"
    }
}

/** What became of an event that was given up. */
public enum class Settlement {
    /** It was carried out before: the state shows it. */
    CARRIED_OUT,

    /** It was not carried out. */
    NOT_CARRIED_OUT,

    /** There is no connection to ask. [NavigationSession.settlements] says it when there is one. */
    UNKNOWN,
}

/** What became of the tap with this [key], see [NavigationSession.settlements]. */
public data class Settled(val key: String, val settlement: Settlement)

/** What came of opening, resuming or pairing. */
public sealed interface Opening {
    /** The session, with its first state. [settled] is what became of an event that was under way when the app ended. */
    public data class Opened(val session: NavigationSession, val settled: Settlement? = null) : Opening

    /** The kept session is over. */
    public data class Over(val reason: String, val problem: Problem? = null) : Opening

    /** There is no such app or link, or the code is wrong. */
    public data class Refused(val problem: Problem) : Opening

    /**
     * No answer before the deadline. The session before goes on; if there is none, [NavigationClient.resume] goes on with
     * the same request.
     */
    public data object Unreachable : Opening
}

/** Why the server did not carry out a request. */
public data class Problem(
    /** `stale-screen`, `session-ended`, …: `docs/problems.md` has all. */
    val kind: String,
    val status: Int,
    val title: String,
    val detail: String,
    /** Names the request in the server's log. */
    val requestId: String?,
    val faults: List<Fault>,
    /** After how many seconds the same may succeed. */
    val retryAfter: Long?,
    val json: JsonObject,
    /** For the user: the app's own words, if it has some in the user's language, otherwise the title, which is English. */
    val words: String,
) {
    internal val isTemporary get() = status == 429 || status == 503 && kind != "session-damaged"
    internal val isEnd get() = status == 401 || status == 410 || kind == "session-incompatible" || kind == "session-damaged"

    internal companion object {
        private const val PREFIX = "urn:coordinatord:problem:"

        /** Null if the error is not the server's own. The first of the [languages] is that of the detail. */
        fun of(status: Int, json: JsonObject?, retryAfter: Long?, languages: String?): Problem? {
            val type = json?.text("type")?.takeIf { it.startsWith(PREFIX) } ?: return null
            val isTranslated = languages?.startsWith("en") == false
            val (title, detail) = json.text("title").orEmpty() to json.text("detail").orEmpty()
            val faults = json.children("errors").map {
                Fault(it.text("pointer").orEmpty(), it.text("code").orEmpty(), it.text("detail").orEmpty())
            }
            return Problem(
                type.removePrefix(PREFIX), status, title, detail, json.text("requestId"), faults,
                retryAfter, json, if (isTranslated) detail else title)
        }
    }
}

/** What is wrong with a part of a payload: [pointer] is `/payload/street`, [code] such as `minLength`. */
public data class Fault(val pointer: String, val code: String, val detail: String) {
    /** The name of the field, or null if the payload is a single value. */
    public val field: String? get() = pointer.removePrefix("/payload").removePrefix("/").ifEmpty { null }
}

/** A code for another device, to be shown until [expiresAt]. */
public data class PairingCode(val code: String, val expiresAt: String) {
    internal constructor(json: JsonObject) : this(json.text("code").orEmpty(), json.text("expiresAt").orEmpty())
}

/** A device's right to the session. [role] is null if the app declares no roles; [isOwn] is this one's. */
public data class Device(
    val number: Int, val label: String?, val role: String?, val lastUsedAt: String, val isOwn: Boolean,
) {
    internal constructor(json: JsonObject) : this(
        json.number("number")?.toInt() ?: 0, json.text("label"), json.text("role"),
        json.text("lastUsedAt").orEmpty(), json.flag("isOwn") ?: false)
}
