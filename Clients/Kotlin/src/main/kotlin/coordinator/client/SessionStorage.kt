package coordinator.client

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.NoSuchFileException
import java.nio.file.Path
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.CREATE_NEW
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.attribute.PosixFilePermissions
import java.util.UUID
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/**
 * Keeps a session over restarts of the app: a text of a few hundred characters, with a token, which is a secret. While a
 * session is being opened, it has the link besides. It is saved before each request that changes something, and after
 * each; [save] returns when the text is safe. What the user types is never in it.
 */
public interface SessionStorage {
    /** The text that was saved last, or null. */
    public fun load(): String?

    /** Replaces the text as a whole; null removes it. */
    public fun save(text: String?)
}

/** For tests, and for sessions that end with the process. */
public class MemoryStorage : SessionStorage {
    private var text: String? = null

    override fun load(): String? = text
    override fun save(text: String?) { this.text = text }
}

/** A file of its owner alone. It is replaced as a whole, and never half written. */
public class FileStorage(private val file: Path) : SessionStorage {
    override fun load(): String? = try { Files.readString(file) } catch (_: NoSuchFileException) { null }

    override fun save(text: String?) {
        if (text == null) { Files.deleteIfExists(file); return }
        val next = file.resolveSibling("${file.fileName}.${UUID.randomUUID()}")
        val isPosix = "posix" in file.fileSystem.supportedFileAttributeViews()
        val owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        try {
            FileChannel.open(next, setOf(CREATE_NEW, WRITE), *(if (isPosix) arrayOf(owner) else emptyArray())).use { channel ->
                val bytes = ByteBuffer.wrap(text.encodeToByteArray())
                while (bytes.hasRemaining()) channel.write(bytes)
                channel.force(true)
            }
            Files.move(next, file, ATOMIC_MOVE)
        } finally {
            Files.deleteIfExists(next)
        }
    }
}

/**
 * A client's storage, which belongs to the session that was opened last: an earlier one saves nothing there any more. What
 * opens the next one is kept beside the present one, until that is there or refused.
 *
 * If the storage refuses, the session goes on in memory; [unsaved] says why.
 */
internal class SharedStorage(private val storage: SessionStorage) {
    private var latest: Lease? = null
    /** What the storage has, once it was read. */
    private var kept: Kept? = null

    val unsaved = MutableStateFlow<Exception?>(null)

    fun load(): Kept = synchronized(this) {
        kept ?: Kept.of(guarded { storage.load() }?.let(::parse)).also { kept = it }
    }

    fun begin(opening: OpenRequest): Unit = synchronized(this) { save(load().copy(opening = opening)) }

    /** The session before, if there is one, goes on. */
    fun giveUp(opening: OpenRequest): Unit = synchronized(this) {
        if (load().opening == opening) save(load().copy(opening = null))
    }

    /** Given up without an answer: the session before goes on; if there is none, this is what goes on. */
    fun leave(opening: OpenRequest): Unit = synchronized(this) { if (load().session != null) giveUp(opening) }

    /** Takes the storage away from the session that has it. */
    fun lease(): Lease = synchronized(this) { Lease().also { latest = it } }

    /** Begins with a new session, in the place of the one that is kept. */
    fun lease(session: Saved): Lease = synchronized(this) { lease().also { save(Kept(session, null)) } }

    /** Keeps nothing any more. */
    fun clear(): Unit = synchronized(this) {
        latest?.isForgotten = true
        latest = null
        save(Kept(null, null))
    }

    private fun save(next: Kept) {
        kept = next
        guarded { storage.save(next.text()) }
    }

    private fun <T> guarded(work: () -> T): T? = try {
        work().also { unsaved.value = null }
    } catch (error: Exception) {
        unsaved.value = error
        null
    }

    inner class Lease {
        @Volatile internal var isForgotten = false

        /** Why the session may not save anything any more; null if it may. */
        val end: String? get() = synchronized(this@SharedStorage) {
            if (latest === this) null else if (isForgotten) "forgotten" else "replaced"
        }

        fun save(session: Saved): Unit = synchronized(this@SharedStorage) {
            if (latest === this) this@SharedStorage.save(load().copy(session = session))
        }
    }
}

/** What a storage has: a session, and the request that opens the next one, while its answer is not there. */
internal data class Kept(val session: Saved?, val opening: OpenRequest?) {
    /** Null if it is nothing. */
    fun text(): String? = if (session == null && opening == null) null else JsonObject(buildMap {
        session?.let { putAll(it.json()) }
        opening?.let { put("opening", it.json()) }
    }).toString()

    companion object {
        fun of(json: JsonObject?): Kept = Kept(json?.let(Saved::of), json?.child("opening")?.let(OpenRequest::of))
    }
}

/** What is kept of a session. [open] is the key of an event that may have been carried out; its payload is not kept. */
internal data class Saved(val id: String, val token: String, val open: String?) {
    fun json() = JsonObject(buildMap {
        put("id", JsonPrimitive(id))
        put("token", JsonPrimitive(token))
        open?.let { put("open", JsonPrimitive(it)) }
    })

    companion object {
        fun of(json: JsonObject): Saved? =
            json.text("id")?.let { Saved(it, json.text("token").orEmpty(), json.text("open")) }
    }
}

/** A POST whose outcome is not known: an event, or the opening of a session. */
internal data class OpenRequest(val key: String, val path: String, val body: String) {
    fun json() = JsonObject(
        mapOf("key" to JsonPrimitive(key), "path" to JsonPrimitive(path), "body" to JsonPrimitive(body)))

    companion object {
        fun of(json: JsonObject): OpenRequest? =
            OpenRequest(json.text("key") ?: return null, json.text("path") ?: return null, json.text("body") ?: return null)
    }
}
