import CoordinatorClient
import SwiftUI

/// Draws any app: its stack, the flows over it, and the alert over everything.
struct AppView: View {
    let model: SessionModel
    @Environment(\.scenePhase) private var phase

    var body: some View {
        Group {
            if let state = model.state {
                StackView(stack: state.stack, model: model)
                    .presenting(state.presented[...], of: model)
            } else if let notice = model.notice {
                ContentUnavailableView(notice, systemImage: "exclamationmark.triangle")
            } else {
                ProgressView()
            }
        }
        .overlay(alignment: .top) { Banner(model: model) }
        .onChange(of: phase) { if phase == .active { model.refresh() } }
    }
}

/// What the user should know beside the screen: no connection, something under way, a refusal, the end.
private struct Banner: View {
    let model: SessionModel

    var body: some View {
        VStack {
            if model.end != nil {
                Button("The session is over. Start again") { Task { await model.run(app: model.state?.session.app) } }
            } else if model.isDisconnected {
                Button("No connection. Try now") { model.refresh() }
                if model.isWaiting { Button("Cancel", role: .cancel) { model.withdraw() } }
            } else if let notice = model.notice {
                Text(notice)
            } else if model.state?.pending.isEmpty == false {
                ProgressView()
            }
        }
        .padding(8)
        .background(.thinMaterial, in: .capsule)
        .opacity(isEmpty ? 0 : 1)
    }

    private var isEmpty: Bool {
        model.end == nil && !model.isDisconnected && model.notice == nil && model.state?.pending.isEmpty != false
    }
}

/// A stack of screens. A swipe or the system's back button takes screens away: that is a tap on `back`.
struct StackView: View {
    let stack: [Screen]
    let model: SessionModel

    var body: some View {
        if let root = stack.first {
            NavigationStack(path: path) {
                ScreenView(screen: root, model: model)
                    .navigationDestination(for: String.self) { key in
                        if let screen = stack.first(where: { $0.key == key }) {
                            ScreenView(screen: screen, model: model)
                        }
                    }
            }
        }
    }

    /// The keys of the screens above the first one.
    private var path: Binding<[String]> {
        let keys = stack.dropFirst().map(\.key)
        return Binding {
            keys
        } set: { shown in
            guard shown.count < keys.count else { return }
            if shown.count == keys.count - 1 {
                model.tap(.back)
            } else {
                model.tap(.back(to: shown.last ?? stack[0].key))
            }
        }
    }
}

extension View {
    /// Presents flows over this view, each over the one before, and the alert over the last.
    fileprivate func presenting(_ flows: ArraySlice<PresentedFlow>, of model: SessionModel) -> some View {
        modifier(Presentation(flows: flows, model: model))
    }
}

private struct Presentation: ViewModifier {
    let flows: ArraySlice<PresentedFlow>
    let model: SessionModel

    func body(content: Content) -> some View {
        content
            .sheet(item: flow(of: .sheet)) { flow in
                next(flow)
                    .interactiveDismissDisabled(flow.isDismissable == false || flow.asks == true)
                    .presentationDetents(flow.detent == "medium" ? [.medium, .large] : [.large])
            }
            #if os(iOS)
        .fullScreenCover(item: flow(of: .fullScreen)) { next($0) }
            #endif
            .alert(
                alert?.title ?? "", isPresented: .constant(alert != nil && flows.isEmpty), presenting: alert,
                actions: buttons
            ) { Text($0.message ?? "") }
    }

    private var alert: CoordinatorClient.Alert? { model.state?.alert }

    private func buttons(of alert: CoordinatorClient.Alert) -> some View {
        ForEach(alert.buttons) { button in
            Button(
                button.title, role: button.role == .cancel ? .cancel : button.role == .destructive ? .destructive : nil
            ) {
                model.tap(.answer(alert, button))
            }
            .disabled(button.isEnabled == false)
        }
    }

    // The result is not `some View`: its type contains itself.
    private func next(_ flow: PresentedFlow) -> AnyView {
        AnyView(StackView(stack: flow.stack, model: model).presenting(flows.dropFirst(), of: model))
    }

    /// The first flow, if it is of that style. When the user drags it away, that is a tap on `dismiss`.
    private func flow(of style: PresentedFlow.Style) -> Binding<PresentedFlow?> {
        let flow = flows.first.flatMap { $0.style == style ? $0 : nil }
        return Binding {
            flow
        } set: { shown in
            if shown == nil, let flow { model.tap(.dismiss(flow.key)) }
        }
    }
}
