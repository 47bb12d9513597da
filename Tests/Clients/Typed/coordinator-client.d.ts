// What typed files use of the library `Clients/TypeScript`, so that they compile alone.
declare module "coordinator-client" {
    export interface NavigationEvent {
        type: string;
        payload?: unknown;
    }
    export interface Screen {
        key: string;
        name: string;
        title?: string;
        params?: { [name: string]: unknown };
    }
}
