public import Coordinators

/// MVVM-C: the user's action goes to a view model, which does the work and then asks for the transition through a
/// protocol; the coordinator only navigates.
public enum ListDetail {
    public static let app = App(
        "list-detail", root: ListCoordinator.init, coordinators: [EditorCoordinator.self])
}

extension ListDetail {
    /// Shows the list and the details; a child edits.
    struct ListCoordinator: Coordinator {
        private var model = ListViewModel()

        enum Event: NavigationEvent {
            case select(id: Int)
            case edit
            static let examples: [Event] = [.select(id: 2), .edit]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("list", title: "Items", params: ["items": model.list], events: ["select"]))
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .select(let id): model.select(id, on: &navigator)
            case .edit: model.edit(on: &navigator)
            }
        }

        mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            guard let editor = child as? EditorCoordinator else { return }
            model.save(editor.title, on: &navigator)
        }
    }

    /// Presented over the detail. A title when it finishes is the result; without one nothing is to be saved.
    struct EditorCoordinator: Coordinator {
        var title: String?

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
                self.title = title
                navigator.finish()
            case .cancel: navigator.dismiss()
            }
        }
    }
}

/// What the view model asks for; the coordinator's navigator can do it.
protocol ListNavigation {
    mutating func showItem(_ id: Int, title: String)
    mutating func showEditor()
    mutating func showTitle(_ title: String)
    mutating func showNotFound()
}

extension Navigator: ListNavigation {
    mutating func showItem(_ id: Int, title: String) {
        push(Screen("detail", title: title, params: ["id": .integer(id)], events: ["edit"]))
    }

    mutating func showEditor() {
        present(ListDetail.EditorCoordinator(), as: .sheet)
    }

    mutating func showTitle(_ title: String) {
        update("detail") { $0.title = title }
    }

    mutating func showNotFound() {
        alert(Alert("Not found"))
    }
}

/// The items, and the one that is looked at. Knows no screen.
struct ListViewModel: Codable, Sendable {
    private var titles: [Int: String] = [:]
    private var selected: Int?

    var list: JSON {
        .array((1...3).map { ["id": .integer($0), "title": .string(title(of: $0))] })
    }

    mutating func select(_ id: Int, on navigation: inout some ListNavigation) {
        guard (1...3).contains(id) else { return navigation.showNotFound() }
        selected = id
        navigation.showItem(id, title: title(of: id))
    }

    func edit(on navigation: inout some ListNavigation) {
        navigation.showEditor()
    }

    mutating func save(_ title: String?, on navigation: inout some ListNavigation) {
        guard let title, let selected else { return }
        titles[selected] = title
        navigation.showTitle(title)
    }

    private func title(of id: Int) -> String {
        titles[id] ?? "Item"
    }
}
