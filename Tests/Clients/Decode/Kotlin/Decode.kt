// Decodes recorded answers with the classes that OpenAPI Generator makes for Kotlin, and encodes them again: nothing may be
// lost.
//
//     java DecodeKt ANSWERS
import com.google.gson.JsonArray
import com.google.gson.JsonElement
import com.google.gson.JsonObject
import com.google.gson.JsonParser
import com.google.gson.ToNumberPolicy
import java.io.File
import org.openapitools.client.infrastructure.Serializer

/** Equal for JSON that means the same: members in order, and times as the generated classes write them. */
fun comparable(json: JsonElement): String = when (json) {
    is JsonObject -> json.entrySet().sortedBy { it.key }.joinToString(",", "{", "}") { "${it.key}:${comparable(it.value)}" }
    is JsonArray -> json.joinToString(",", "[", "]") { comparable(it) }
    else -> json.toString()
}

fun main(arguments: Array<String>) {
    // Numbers of the app's own keep their digits.
    val gson = Serializer.gsonBuilder.setObjectToNumberStrategy(ToNumberPolicy.LAZILY_PARSED_NUMBER).create()
    val answers = JsonParser.parseString(File(arguments[0]).readText()).asJsonArray.map { it.asJsonObject }
    for (answer in answers) {
        val type = Class.forName("org.openapitools.client.models." + answer["schema"].asString)
        val (sent, read) = listOf(answer["body"], gson.toJsonTree(gson.fromJson(answer["body"], type))).map(::comparable)
        check(sent == read) { "$type: $sent\nwas decoded as $read" }
    }
    println("the Kotlin client decoded ${answers.size} answers")
}
