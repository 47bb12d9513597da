import CoordinatorClient
import SwiftUI

/// Draws any screen. An app draws those that it knows by their `name`, here, in a `switch`.
struct ScreenView: View {
    let screen: CoordinatorClient.Screen
    let model: SessionModel
    @State private var content: JSONValue?

    var body: some View {
        if let tabs = screen.tabs {
            TabsView(tabs: tabs, model: model)
        } else {
            List {
                ForEach(values, id: \.name) { LabeledContent($0.name, value: $0.value) }
                if let rows = screen.rows {
                    Section { ForEach(rows.indices, id: \.self) { RowView(row: rows[$0], model: model) } }
                }
                if let content { Section { Text(content.description).font(.footnote) } }
                if isVisible {
                    ForEach(controls.indices, id: \.self) { ControlView(control: controls[$0], model: model) }
                }
            }
            .navigationTitle(screen.title ?? screen.name)
            .toolbar(screen.hidesNavigationBar == true ? .hidden : .automatic)
            .toolbar { if isVisible { closeButton } }
            .navigationBarBackButtonHidden(isVisible && model.state?.back == nil)
            .task(id: screen.contentVersion) {
                if screen.hasContent == true { content = try? await model.session.content(of: screen) }
            }
        }
    }

    private var isVisible: Bool { model.state?.visible.key == screen.key }
    private var controls: [Control] { model.state?.controls.filter { $0.coordinator != nil } ?? [] }
    private var values: [(name: String, value: String)] {
        (screen.params?.object ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) }
    }

    @ViewBuilder private var closeButton: some View {
        if model.state?.events.contains("dismiss") == true {
            Button("Close", systemImage: "xmark") { model.tap(.dismiss()) }
        }
    }
}

/// The tabs of a screen, each with its own stack.
private struct TabsView: View {
    let tabs: Tabs
    let model: SessionModel

    var body: some View {
        TabView(selection: selection) {
            ForEach(tabs.items) { tab in
                SwiftUI.Tab(tab.title ?? tab.id, systemImage: tab.icon ?? "circle", value: tab.id) {
                    StackView(stack: tab.stack, model: model)
                }
                .badge(tab.badge.map { Text($0) })
            }
        }
    }

    /// A tap on the selected tab is a tap, too: it goes back to the tab's first screen.
    private var selection: Binding<String> {
        Binding {
            tabs.selected
        } set: { id in
            model.tap(.selectTab(id))
        }
    }
}

/// A row of a list.
private struct RowView: View {
    let row: Row
    let model: SessionModel

    var body: some View {
        Button {
            if let event = NavigationEvent(row) { model.tap(event) }
        } label: {
            HStack {
                VStack(alignment: .leading) {
                    Text(row.title)
                    if let detail = row.detail { Text(detail).font(.footnote).foregroundStyle(.secondary) }
                }
                Spacer()
                if row.isSelected == true { Image(systemName: "checkmark") }
                if row.role == .navigation { Image(systemName: "chevron.right").foregroundStyle(.tertiary) }
            }
        }
        .disabled(NavigationEvent(row) == nil)
        .foregroundStyle(row.role == .destructive ? .red : .primary)
    }
}

/// A button, or a form with what did not fit at each field.
private struct ControlView: View {
    let control: Control
    let model: SessionModel
    @State private var texts: [String: String] = [:]
    @State private var wasSent = false

    var body: some View {
        Section {
            ForEach(control.fields) { field in
                FieldView(field: field, text: text(of: field))
                if wasSent {
                    ForEach(faults(of: field), id: \.code) { Text($0.detail).font(.footnote).foregroundStyle(.red) }
                }
            }
            Button(control.title, role: control.role == .destructive ? .destructive : nil, action: send)
                .fontWeight(control.role == .primary ? .semibold : .regular)
        }
    }

    private func send() {
        wasSent = true
        var values: [String: JSONValue] = [:]
        for field in control.fields {
            let text = texts[field.id] ?? field.initialText
            // What means no value is sent as text: the server says what it expects.
            values[field.id] = field.value(of: text)
        }
        let tap = model.tap(control.event(entering: values))
        Task { if case .done = await tap.value { (texts, wasSent) = ([:], false) } }
    }

    private func text(of field: FormField) -> Binding<String> {
        Binding {
            texts[field.id] ?? field.initialText
        } set: {
            texts[field.id] = $0
        }
    }

    private func faults(of field: FormField) -> [Problem.Fault] { model.faults.filter { ($0.field ?? "") == field.id } }
}

/// A field of a form.
private struct FieldView: View {
    let field: FormField
    @Binding var text: String

    var body: some View {
        switch field.kind {
        case .secret: SecureField(field.title, text: $text)
        case .toggle:
            Toggle(
                field.title,
                isOn: Binding {
                    text == "true"
                } set: {
                    text = "\($0)"
                })
        case .choice(let choices):
            Picker(field.title, selection: $text) {
                if text.isEmpty { Text("–").tag("") }
                ForEach(choices, id: \.title) { Text($0.title).tag($0.title) }
            }
        case .text, .integer, .number, .json: TextField(field.title, text: $text, prompt: Text(prompt))
        }
    }

    private var prompt: String { field.example?.description ?? field.title }
}
