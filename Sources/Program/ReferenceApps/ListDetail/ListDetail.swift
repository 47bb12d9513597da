public import Coordinators

/// MVVM-C: the user's action goes to a view model, which does the work and then asks for the transition through a
/// protocol; the coordinator only navigates. A new title is stored while the user goes on.
public enum ListDetail {
    public static func app(_ store: any ItemStore) -> App {
        var dependencies = Dependencies()
        dependencies.register((any ItemStore).self) { _ in store }
        return App(
            "list-detail", root: ListCoordinator.init, coordinators: [EditorCoordinator.self],
            dependencies: dependencies)
    }
}

extension ListDetail {
    /// Shows the list and the details; a child edits.
    struct ListCoordinator: Coordinator {
        private var viewModel: ListViewModel?

        enum Event: NavigationEvent {
            case select(id: Int)
            case edit
            static let examples: [Event] = [.select(id: 2), .edit]
        }

        enum Effect: NavigationEffect { case store(title: String, id: Int) }

        static let dependencies: [any Any.Type] = [(any ItemStore).self]

        // Sessions are saved under these names.
        private enum CodingKeys: String, CodingKey { case viewModel = "model" }

        mutating func start(_ navigator: inout Navigator) {
            let viewModel = ListViewModel()
            self.viewModel = viewModel
            navigator.push(Screen("list", title: "Items", params: ["items": viewModel.items], events: ["select"]))
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            let coordinator = self
            switch event {
            case .select(let id): viewModel?.select(id, coordinator, &navigator)
            case .edit: viewModel?.edit(coordinator, &navigator)
            }
        }

        func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
            switch effect {
            case .store(let title, let id): try await context.resolve((any ItemStore).self).save(title, of: id)
            }
            return nil
        }

        mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            let coordinator = self
            switch effect {
            case .store(let title, _): viewModel?.storingFailed(title, coordinator, &navigator)
            }
        }

        func content(of screen: Screen, in context: ContentContext) -> JSONObject {
            screen.params["id"]?.integer.flatMap { viewModel?.content(of: $0) } ?? [:]
        }

        mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            guard let editor = child as? EditorCoordinator, let title = editor.title else { return }
            let coordinator = self
            viewModel?.save(title, coordinator, &navigator)
        }
    }

    /// Presented over the detail; the title is the result.
    struct EditorCoordinator: Coordinator {
        private(set) var title: String?

        enum Event: NavigationEvent {
            case save(title: String)
            case cancel
            static let examples: [Event] = [.save(title: "New"), .cancel]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("editor", title: "Edit"))
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .save(let title):
                guard !title.isEmpty else { return navigator.alert(Alert("Enter a title")) }
                self.title = title
                navigator.finish()
            case .cancel: navigator.dismiss()
            }
        }
    }
}

extension ListDetail.ListCoordinator: ListNavigation {
    func showItem(_ id: Int, title: String, _ navigator: inout Navigator) {
        navigator.push(
            Screen("detail", title: title, params: ["id": .integer(id)], events: [Event.edit], hasContent: true))
    }

    func showEditor(_ navigator: inout Navigator) {
        navigator.present(ListDetail.EditorCoordinator(), as: .sheet)
    }

    func showTitle(_ title: String, in items: JSON, _ navigator: inout Navigator) {
        navigator.update("detail") { $0.title = title }
        navigator.update("list") { $0.params = ["items": items] }
    }

    func store(_ title: String, of id: Int, _ navigator: inout Navigator) {
        // A later title of the same item replaces this one, if it is not stored by then.
        navigator.perform(Effect.store(title: title, id: id), id: "store \(id)")
    }

    func showNotFound(_ navigator: inout Navigator) {
        navigator.alert(Alert("Not found"))
    }

    func showNotSaved(_ title: String, _ navigator: inout Navigator) {
        navigator.alert(Alert("“\(title)” could not be saved"))
    }
}
