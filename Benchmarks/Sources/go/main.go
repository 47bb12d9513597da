// The peers: the same job as simply as users of Go's net/http write it. An event selects a tab, and the answer is the
// state, with encoding/json both ways. The sessions are in one of the stores of stores.go: in memory, or as durable as
// the server's, in SQLite or in Redis.
//
//	go PORT memory | sqlite FILE | redis ADDRESS
package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
)

type event struct {
	Type    string `json:"type"`
	Payload struct {
		Index int `json:"index"`
	} `json:"payload"`
}

type screen struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Coordinator string `json:"coordinator"`
}

type tab struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Stack []screen `json:"stack"`
}

type session struct {
	ID        string `json:"id"`
	App       string `json:"app"`
	Version   int    `json:"version"`
	ExpiresAt string `json:"expiresAt"`
}

type transition struct {
	Event      string              `json:"event"`
	Operations []map[string]string `json:"operations"`
	Finished   []string            `json:"finished"`
}

type state struct {
	Session    session    `json:"session"`
	Visible    screen     `json:"visible"`
	Selected   int        `json:"selected"`
	Tabs       []tab      `json:"tabs"`
	Events     []string   `json:"events"`
	Transition transition `json:"transition"`
}

var tabs = makeTabs("home", "plus", "myPage")

func makeTabs(names ...string) []tab {
	var tabs []tab
	for index, name := range names {
		first := screen{"k" + strconv.Itoa(index+3), name, name, "tab"}
		tabs = append(tabs, tab{name, name, []screen{first}})
	}
	return tabs
}

// A session before its first event.
func newState(id string) state {
	return state{
		Session: session{id, "tabs", 1, "2026-01-01T00:00:00Z"}, Visible: tabs[0].Stack[0], Tabs: tabs,
		Events: []string{"home", "selectTab", "relaunch", "describeClient"},
	}
}

var (
	errRefused = errors.New("the event selects no tab")
	errUsage   = errors.New("usage: go PORT memory | sqlite FILE | redis ADDRESS")
)

func (current state) after(event event) (state, error) {
	if event.Payload.Index < 0 || event.Payload.Index >= len(current.Tabs) {
		return current, errRefused
	}
	current.Session.Version++
	current.Selected = event.Payload.Index
	current.Visible = current.Tabs[current.Selected].Stack[0]
	operation := map[string]string{"op": "selectTab", "key": "k2", "tab": current.Visible.Name}
	current.Transition = transition{event.Type, []map[string]string{operation}, []string{}}
	return current, nil
}

// The store that the arguments after the port name.
func openStore(arguments []string) (store, error) {
	switch {
	case len(arguments) == 1 && arguments[0] == "memory":
		return newMemory(), nil
	case len(arguments) == 2 && arguments[0] == "sqlite":
		return openSQLite(arguments[1])
	case len(arguments) == 2 && arguments[0] == "redis":
		return openRedis(arguments[1]), nil
	}
	return nil, errUsage
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal(errUsage)
	}
	sessions, err := openStore(os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/v1/sessions/", func(response http.ResponseWriter, request *http.Request) {
		path := strings.TrimPrefix(request.URL.Path, "/v1/sessions/")
		id, isEvent := strings.TrimSuffix(path, "/events"), strings.HasSuffix(path, "/events")
		if request.Method != http.MethodPost || !isEvent {
			http.NotFound(response, request)
			return
		}
		var posted event
		if json.NewDecoder(request.Body).Decode(&posted) != nil {
			http.Error(response, "", http.StatusUnprocessableEntity)
			return
		}
		state, err := sessions.post(posted, id)
		if err == errRefused {
			http.Error(response, "", http.StatusUnprocessableEntity)
			return
		}
		if err != nil {
			log.Print(err)
			http.Error(response, "", http.StatusInternalServerError)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		json.NewEncoder(response).Encode(state)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
