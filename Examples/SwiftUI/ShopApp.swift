// The SwiftUI host of any app: an app's entry point. Add this folder's files and `Clients/Swift` to an app target in
// Xcode; README.md says how, and what was compiled where.
import CoordinatorClient
import SwiftUI

@main struct ShopApp: App {
    @State private var model = SessionModel(
        NavigationSession(
            server: URL(string: "http://127.0.0.1:8080") ?? .currentDirectory(),
            storage: KeychainStorage(service: "com.example.shop"), drawsEarly: true))

    var body: some Scene {
        WindowGroup {
            AppView(model: model)
                .task { await model.run(app: "shop") }
                .onOpenURL { model.open($0) }
        }
    }
}
