import Coordinators
import JSONCoding
import Testing

@Suite struct SecretTests {
    struct Login: Codable {
        var email: String
        var password: Secret
    }

    let login = Login(email: "a@b", password: "hunter2")

    @Test func `a secret is read from a plain string`() throws {
        let login = try (["email": "a@b", "password": "hunter2"] as JSON).decode(as: Login.self)

        #expect(login.password.value == "hunter2")
        #expect(login.password == "hunter2")
        #expect(login.password != "hunter3")
    }

    @Test func `a secret is not read from anything else`() {
        let error = #expect(throws: JSONDecodingError.self) {
            try (["email": "a@b", "password": 7] as JSON).decode(as: Login.self)
        }

        #expect(error?.pointer == "/password")
        #expect(error?.reason == "must be a string")
    }

    @Test func `a secret is encoded as dots`() throws {
        #expect(try JSON(encoding: login) == ["email": "a@b", "password": "•••"])
    }

    @Test func `a secret shows as dots however it is printed`() {
        var dumped = ""
        dump(login, to: &dumped)

        let texts = [
            "\(login)", String(reflecting: login), "\(login.password)", String(reflecting: login.password),
            "\([login.password])", "\(Optional(login.password) as Any)", dumped,
        ]

        for text in texts {
            #expect(text.contains("•••"))
            #expect(!text.contains("hunter2"))
        }
    }

    @Test func `a secret's mirror has no trace of it`() {
        let mirror = Mirror(reflecting: login.password)

        #expect(mirror.children.isEmpty)
        #expect(mirror.descendant("value") == nil)
    }
}
