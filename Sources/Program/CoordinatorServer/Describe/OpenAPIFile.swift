internal import JSONCoding

/// The general description of the API, narrowed for one app: its events and screens are one-ofs with constant names, so
/// that a generator makes types of them. It is JSON, which is YAML, too.
struct OpenAPIFile {
    let app: DescribedApp
    /// Says what wrote the file.
    let head: String

    var text: String { json.indentedText + "\n" }

    private var json: JSON {
        [
            "openapi": "3.1.0",
            "info": [
                "title": .string(app.name), "version": .string(String(app.version)),
                "description": .string(
                    head + " It has what differs from app to app; /openapi.yaml of the server has the rest."),
            ],
            "servers": [["url": "http://127.0.0.1:8080"]],
            "security": [["token": []]],
            "paths": [
                "/v1/sessions": [
                    "post": [
                        "operationId": "createSession", "summary": "Open a session of this app.", "security": [],
                        "requestBody": OpenAPIFile.body(
                            [
                                "type": "object", "required": ["app"],
                                "properties": ["app": ["type": "string", "enum": [.string(app.name)]]],
                            ]),
                        "responses": OpenAPIFile.responses("201", "The session, and its token."),
                    ]
                ],
                "/v1/sessions/{session}": [
                    "parameters": [OpenAPIFile.session],
                    "get": [
                        "operationId": "readSession", "summary": "Read the state.",
                        "responses": OpenAPIFile.responses("200", "The state."),
                    ],
                ],
                "/v1/sessions/{session}/events": [
                    "parameters": [OpenAPIFile.session],
                    "post": [
                        "operationId": "postEvent", "summary": "Post an event.",
                        "parameters": [
                            ["name": "Idempotency-Key", "in": "header", "schema": ["type": "string"]]
                        ],
                        "requestBody": OpenAPIFile.body(["$ref": "#/components/schemas/Event"]),
                        "responses": OpenAPIFile.responses("200", "The state after the event."),
                    ],
                ],
            ],
            "components": [
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer"]],
                "schemas": .object(schemas),
            ],
        ]
    }

    private var schemas: JSONObject {
        var schemas = JSONObject()
        var names = Identifiers(form: .upper, used: ["Event", "OtherScreen", "Screen", "State"])
        var events: [JSON] = []
        for (type, payloads, isRequired) in eventTypes {
            let name = names.identifier(for: type + " event")
            var properties: JSONObject = ["type": ["type": "string", "const": .string(type)]]
            if !payloads.isEmpty {
                properties["payload"] = payloads.count == 1 ? payloads[0] : ["anyOf": .array(payloads)]
            }
            schemas[name] = [
                "type": "object", "required": isRequired ? ["type", "payload"] : ["type"],
                "properties": .object(properties),
            ]
            events.append(["$ref": .string("#/components/schemas/\(name)")])
        }
        // The built-in events are those of the general description.
        schemas["Event"] = [
            "oneOf": .array(events + [["$ref": "#/components/schemas/BuiltInEvent"]])
        ]
        schemas["BuiltInEvent"] = [
            "type": "object", "required": ["type"],
            "properties": [
                "type": ["type": "string", "enum": .array(app.builtInEvents.map { .string($0.type) })],
                "payload": ["type": "object"],
            ],
        ]
        var screens: [JSON] = []
        for screen in app.screens ?? [] {
            let name = names.identifier(for: screen.name + " screen")
            var required: [JSON] = ["key", "name"]
            var properties: JSONObject = [
                "key": ["type": "string"], "name": ["type": "string", "const": .string(screen.name)],
                "title": ["type": "string"],
            ]
            if let params = screen.params {
                properties["params"] = params
                if screen.members.contains(where: \.isRequired) { required.append("params") }
            }
            schemas[name] = [
                "type": "object", "required": .array(required), "properties": .object(properties),
            ]
            if let content = screen.content { schemas[names.identifier(for: screen.name + " content")] = content }
            screens.append(["$ref": .string("#/components/schemas/\(name)")])
        }
        schemas["OtherScreen"] = [
            "description": "A screen that this description does not have.", "type": "object",
            "required": ["key", "name"],
            "properties": [
                "key": ["type": "string"],
                "name": [
                    "type": "string",
                    "not": ["enum": .array((app.screens ?? []).map { .string($0.name) })],
                ],
            ],
        ]
        schemas["Screen"] = ["oneOf": .array(screens + [["$ref": "#/components/schemas/OtherScreen"]])]
        schemas["State"] = [
            "type": "object", "required": ["visible", "events"],
            "properties": [
                "visible": ["$ref": "#/components/schemas/Screen"],
                "events": ["type": "array", "items": ["type": "string"]],
            ],
        ]
        return schemas
    }

    /// The events, each name once: two coordinators may have one with different payloads.
    private var eventTypes: [(type: String, payloads: [JSON], isRequired: Bool)] {
        var types: [(type: String, payloads: [JSON], isRequired: Bool)] = []
        for event in app.coordinators.flatMap(\.events) {
            let isRequired = event.payload.map { !$0.isOptional } ?? false
            if let known = types.firstIndex(where: { $0.type == event.type }) {
                types[known].isRequired = types[known].isRequired && isRequired
                if let schema = event.schema, !types[known].payloads.contains(schema) {
                    types[known].payloads.append(schema)
                }
            } else {
                types.append((event.type, event.schema.map { [$0] } ?? [], isRequired))
            }
        }
        return types
    }

    private static let session: JSON = [
        "name": "session", "in": "path", "required": true, "schema": ["type": "string"],
    ]

    private static func body(_ schema: JSON) -> JSON {
        ["required": true, "content": ["application/json": ["schema": schema]]]
    }

    private static func responses(_ status: String, _ description: String) -> JSON {
        let state: JSON = ["application/json": ["schema": ["$ref": "#/components/schemas/State"]]]
        let answer: JSON = ["description": .string(description), "content": state]
        let problem: JSON = ["description": "A problem, as the general description has them."]
        return .object(JSONObject([(status, answer), ("default", problem)]))
    }
}
