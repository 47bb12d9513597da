import Foundation
import SessionSimulation
import Simulation
import Testing

@Suite struct SessionSimulationTests {
    private static let steps = 150
    private static let setup =
        #"{"app":{"conduct":{"on":[{"callback":"start","script":[{"word":"push"}]}]},"sizeLimit":65536,"stack":64,"#
        + #""depth":32,"alerts":16,"pending":64,"showsErrors":false},"store":"STORE","answers":256,"versions":100,"#
        + #""answerBytes":1048576,"versionBytes":4194304,"live":LIVE,"room":0,"idle":3600,"absolute":86400,"#
        + #""tombstone":3600,"dice":1}"#

    private static func setup(_ store: String, live: Int = 1000) -> String {
        setup.replacing("STORE", with: store).replacing("LIVE", with: "\(live)")
    }

    @Test(arguments: UInt64(1)...30)
    func `a walk with sessions of a fixed seed finds only known faults`(seed: UInt64) async {
        let report = await SessionSimulation.walk(
            seed: seed, steps: SessionSimulationTests.steps, ignoring: Set(knownFaults.keys))

        #expect(report.failures.map(\.description) == [])
    }

    @Test func `the walks with sessions of today find only known faults`() async {
        let today = UInt64(Date().timeIntervalSince1970 / 86_400)
        print("The seeds of today: \(today * 1000) and the nine that follow")
        for seed in 0..<10 {
            let report = await SessionSimulation.walk(
                seed: today * 1000 + UInt64(seed), steps: SessionSimulationTests.steps,
                ignoring: Set(knownFaults.keys))

            #expect(report.failures.map(\.description) == [])
        }
    }

    @Test(arguments: SessionSetup.Store.allCases)
    func `the same seed gives the same trace with sessions`(store: SessionSetup.Store) async {
        var traces: [[String]] = []
        for _ in 0..<2 {
            var lines: [String] = []
            for seed in UInt64(1)...5 {
                lines += await SessionSimulation.walk(
                    seed: seed, steps: SessionSimulationTests.steps, store: store, shortens: false, traces: true
                ).trace
            }
            traces.append(lines)
        }

        #expect(traces[0].count == 5 * (SessionSimulationTests.steps + 1))
        #expect(traces[0] == traces[1])
    }

    /// A signal that only kept its answer, then the session was evicted and loaded again.
    @Test func `seed 4 watched`() async throws {
        let findings = try await SessionSimulation.replay(
            setup: SessionSimulationTests.setup("sqlite", live: 2),
            steps: [
                #"{"verb":"create"}"#,
                #"{"verb":"create","with":[{"verb":"signal","step":{"verb":"tap"}},{"verb":"watch"}]}"#,
                #"{"verb":"wait","with":[{"verb":"event","step":{"verb":"describeClient","at":1}}]}"#,
                #"{"verb":"create"}"#,
                #"{"verb":"event","session":1,"step":{"verb":"run","script":[]}}"#,
                #"{"verb":"openPairing"}"#,
                #"{"verb":"pair"}"#,
            ])

        #expect(findings == [])
    }

    /// A display that was paired before the app got a new edition says something about itself: the judge expected the state
    /// as the edition before had saved it.
    @Test func `seed 20786000662 order`() async throws {
        let findings = try await SessionSimulation.replay(
            setup: SessionSimulationTests.setup("memory"),
            steps: [
                #"{"verb":"create"}"#, #"{"verb":"openPairing","to":2}"#, #"{"verb":"pair"}"#,
                #"{"verb":"update","at":2}"#,
                #"{"verb":"event","step":{"verb":"describeClient"}}"#,
            ])

        #expect(findings == [])
    }

    /// An export from a store that has just imported a session that had ended.
    @Test func `seed 7 access`() async throws {
        let findings = try await SessionSimulation.replay(
            setup: SessionSimulationTests.setup("sqlite"),
            steps: [#"{"verb":"create"}"#, #"{"verb":"end"}"#, #"{"verb":"move"}"#, #"{"verb":"move"}"#])

        #expect(findings == [])
    }

    static let mended = [
        // The outcome of an event is asked for while the event replaces the token.
        [
            #"{"verb":"create"}"#,
            #"{"verb":"event","key":0,"step":{"verb":"run","script":[{"word":"rotateToken"}]},"with":[{"verb":"outcome"}]}"#,
        ],
        // An answer is read again after the user has signed in to another session.
        [
            #"{"verb":"create"}"#, #"{"verb":"create"}"#,
            #"{"verb":"event","key":5,"step":{"verb":"run","script":[{"word":"endSessions","at":1}]}}"#,
            #"{"verb":"event","session":1,"step":{"verb":"run","script":[{"word":"signIn","at":1}]}}"#,
            #"{"verb":"outcome","key":5}"#,
        ],
        // A code is used after an event that asked for another one was not committed.
        [
            #"{"verb":"create"}"#, #"{"verb":"openPairing"}"#,
            #"{"verb":"event","fates":["unavailable"],"step":{"verb":"run","script":[{"word":"push"},{"word":"requestPairingCode"}]}}"#,
            #"{"verb":"pair"}"#,
        ],
        // A history is read beside a rotation that seals earlier versions: the judge looked at what came after it.
        [
            #"{"verb":"create"}"#, #"{"verb":"event","step":{"verb":"run","script":[{"word":"rotateToken"}]}}"#,
            #"{"verb":"openPairing"}"#, #"{"verb":"pair"}"#,
            #"{"verb":"event","step":{"verb":"run","script":[{"word":"rotateToken","isOn":false}]},"with":[{"verb":"history","device":7}]}"#,
        ],
        // An event with If-Match ends its own session after `back`: the judge took the end for the event's version.
        [
            #"{"verb":"openPairing","with":[{"verb":"create"}]}"#,
            #"{"verb":"event","step":{"verb":"anywhere","script":[]},"with":[{"verb":"event","step":{"verb":"anywhere","script":[{"word":"signIn","at":1}]}}]}"#,
            #"{"verb":"event","step":{"verb":"anywhere","script":[{"word":"present","kind":"alpha","conduct":{"on":[{"callback":"start","script":[{"word":"push"}]}]}}]}}"#,
            #"{"verb":"event","step":{"verb":"back"},"order":7408505028752418529,"with":[{"verb":"event","condition":0,"step":{"verb":"run","script":[{"word":"endSessions","at":1}]}}]}"#,
        ],
        // The answer to the commit of an effect is lost.
        [
            #"{"verb":"create"}"#,
            #"{"verb":"event","fates":["lostDone"],"step":{"verb":"run","script":[{"word":"perform","script":[]}]}}"#,
            #"{"verb":"finish"}"#,
        ],
    ]

    @Test(arguments: mended) func `what was found is mended`(steps: [String]) async throws {
        let findings = try await SessionSimulation.replay(setup: SessionSimulationTests.setup("memory"), steps: steps)

        #expect(findings == [])
    }
}
