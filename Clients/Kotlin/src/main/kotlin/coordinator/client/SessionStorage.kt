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
import kotlinx.serialization.json.Json
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

/** A client's storage, which belongs to the session that was opened last: an earlier one saves nothing there any more. */
internal class SharedStorage(private val storage: SessionStorage) {
    private var latest: Lease? = null

    fun load(): String? = storage.load()

    /** Takes the storage away from the session that has it. */
    fun lease(): Lease = synchronized(this) { Lease().also { latest = it } }

    inner class Lease {
        val isHeld: Boolean get() = synchronized(this@SharedStorage) { latest === this }

        fun save(text: String?): Unit = synchronized(this@SharedStorage) { if (latest === this) storage.save(text) }
    }
}

/** What is kept of a session. [open] is the key of an event that may have been carried out; its payload is not kept. */
internal data class Saved(val id: String, val token: String, val open: String?) {
    fun text() = JsonObject(buildMap {
        put("id", JsonPrimitive(id))
        put("token", JsonPrimitive(token))
        open?.let { put("open", JsonObject(mapOf("key" to JsonPrimitive(it)))) }
    }).toString()
}

/** A POST whose outcome is not known: an event, or the opening of a session. */
internal data class OpenRequest(val key: String, val path: String, val body: String) {
    fun json() = JsonObject(
        mapOf("key" to JsonPrimitive(key), "path" to JsonPrimitive(path), "body" to JsonPrimitive(body)))

    companion object {
        fun of(json: JsonObject): OpenRequest? = json.child("open")?.let {
            OpenRequest(it.text("key") ?: return null, it.text("path") ?: return null, it.text("body") ?: return null)
        }
    }
}
