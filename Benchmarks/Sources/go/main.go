// The peer: the same job as simply as users of Go's net/http write it. Sessions are values in memory behind one lock, an
// event selects a tab, the answer is the state, with encoding/json both ways.
//
//	go run main.go PORT
package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
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

var (
	lock     sync.Mutex
	sessions = map[string]state{}
	tabs     = makeTabs("home", "plus", "myPage")
)

func makeTabs(names ...string) []tab {
	var tabs []tab
	for index, name := range names {
		first := screen{"k" + strconv.Itoa(index+3), name, name, "tab"}
		tabs = append(tabs, tab{name, name, []screen{first}})
	}
	return tabs
}

// Returns false if the event selects no tab.
func apply(event event, id string) (state, bool) {
	lock.Lock()
	defer lock.Unlock()
	current, found := sessions[id]
	if !found {
		current = state{
			Session: session{id, "tabs", 1, "2026-01-01T00:00:00Z"}, Visible: tabs[0].Stack[0], Tabs: tabs,
			Events: []string{"home", "selectTab", "relaunch", "describeClient"},
		}
	}
	if event.Payload.Index < 0 || event.Payload.Index >= len(current.Tabs) {
		return current, false
	}
	current.Session.Version++
	current.Selected = event.Payload.Index
	current.Visible = current.Tabs[current.Selected].Stack[0]
	operation := map[string]string{"op": "selectTab", "key": "k2", "tab": current.Visible.Name}
	current.Transition = transition{event.Type, []map[string]string{operation}, []string{}}
	sessions[id] = current
	return current, true
}

func main() {
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
		state, isApplied := apply(posted, id)
		if !isApplied {
			http.Error(response, "", http.StatusUnprocessableEntity)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		json.NewEncoder(response).Encode(state)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
