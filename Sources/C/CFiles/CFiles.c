// Files of the repository, compiled in: the compiler reads each with `#embed`, and compiles it again when it changes. A
// file that is added here is found by its name.
#include "CFiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char openapi_yaml[] = {
#embed "../../../openapi.yaml"
};
static const unsigned char problems_md[] = {
#embed "../../../docs/problems.md"
};
static const unsigned char client_js[] = {
#embed "../../../Clients/TypeScript/coordinator-client.js"
};
#ifdef COMPLETE
static const unsigned char Console_console_css[] = {
#embed "Console/console.css"
};
static const unsigned char Console_console_html[] = {
#embed "Console/console.html"
};
static const unsigned char Console_devices_js[] = {
#embed "Console/devices.js"
};
static const unsigned char Console_dom_js[] = {
#embed "Console/dom.js"
};
static const unsigned char Console_form_js[] = {
#embed "Console/form.js"
};
static const unsigned char Console_history_js[] = {
#embed "Console/history.js"
};
static const unsigned char Console_json_js[] = {
#embed "Console/json.js"
};
static const unsigned char Console_main_js[] = {
#embed "Console/main.js"
};
static const unsigned char Console_map_js[] = {
#embed "Console/map.js"
};
static const unsigned char Console_phone_js[] = {
#embed "Console/phone.js"
};
static const unsigned char Console_server_js[] = {
#embed "Console/server.js"
};
static const unsigned char Console_session_js[] = {
#embed "Console/session.js"
};
static const unsigned char Console_state_js[] = {
#embed "Console/state.js"
};
static const unsigned char Console_tree_js[] = {
#embed "Console/tree.js"
};
#endif
static const unsigned char Template_App_swift[] = {
#embed "Template/App.swift.template"
};
static const unsigned char Template_AppTests_swift[] = {
#embed "Template/AppTests.swift.template"
};
static const unsigned char Template_Dockerfile[] = {
#embed "Template/Dockerfile.template"
};
static const unsigned char Template_Package_swift[] = {
#embed "Template/Package.swift.template"
};
static const unsigned char Template_README_md[] = {
#embed "Template/README.md.template"
};
static const unsigned char Template_Server_swift[] = {
#embed "Template/Server.swift.template"
};
static const unsigned char Template_dockerignore[] = {
#embed "Template/dockerignore.template"
};
static const unsigned char Template_gitignore[] = {
#embed "Template/gitignore.template"
};
static const unsigned char Template_watch[] = {
#embed "Template/watch.template"
};
static const unsigned char Template_package[] = {
#embed "Template/package.template"
};
static const unsigned char Template_service[] = {
#embed "Template/service.template"
};

static const struct {
    const char *name;
    CFiles_File file;
} files[] = {
    {"openapi.yaml", {openapi_yaml, sizeof openapi_yaml}},
    {"problems.md", {problems_md, sizeof problems_md}},
    {"client.js", {client_js, sizeof client_js}},
#ifdef COMPLETE
    {"Console/console.css", {Console_console_css, sizeof Console_console_css}},
    {"Console/console.html", {Console_console_html, sizeof Console_console_html}},
    {"Console/devices.js", {Console_devices_js, sizeof Console_devices_js}},
    {"Console/dom.js", {Console_dom_js, sizeof Console_dom_js}},
    {"Console/form.js", {Console_form_js, sizeof Console_form_js}},
    {"Console/history.js", {Console_history_js, sizeof Console_history_js}},
    {"Console/json.js", {Console_json_js, sizeof Console_json_js}},
    {"Console/main.js", {Console_main_js, sizeof Console_main_js}},
    {"Console/map.js", {Console_map_js, sizeof Console_map_js}},
    {"Console/phone.js", {Console_phone_js, sizeof Console_phone_js}},
    {"Console/server.js", {Console_server_js, sizeof Console_server_js}},
    {"Console/session.js", {Console_session_js, sizeof Console_session_js}},
    {"Console/state.js", {Console_state_js, sizeof Console_state_js}},
    {"Console/tree.js", {Console_tree_js, sizeof Console_tree_js}},
#endif
    {"Template/App.swift", {Template_App_swift, sizeof Template_App_swift}},
    {"Template/AppTests.swift", {Template_AppTests_swift, sizeof Template_AppTests_swift}},
    {"Template/Dockerfile", {Template_Dockerfile, sizeof Template_Dockerfile}},
    {"Template/Package.swift", {Template_Package_swift, sizeof Template_Package_swift}},
    {"Template/README.md", {Template_README_md, sizeof Template_README_md}},
    {"Template/Server.swift", {Template_Server_swift, sizeof Template_Server_swift}},
    {"Template/dockerignore", {Template_dockerignore, sizeof Template_dockerignore}},
    {"Template/gitignore", {Template_gitignore, sizeof Template_gitignore}},
    {"Template/package", {Template_package, sizeof Template_package}},
    {"Template/watch", {Template_watch, sizeof Template_watch}},
    {"Template/service", {Template_service, sizeof Template_service}},
};

CFiles_File CFiles_find(const char *name) {
    for (size_t index = 0; index < sizeof files / sizeof *files; index++) {
        if (strcmp(files[index].name, name) == 0) return files[index].file;
    }
    fprintf(stderr, "no file %s is compiled in\n", name);
    abort();
}
