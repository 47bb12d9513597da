package main

import (
	"database/sql"
	"encoding/json"
	"sync"

	"github.com/gomodule/redigo/redis"
	_ "github.com/mattn/go-sqlite3"
)

// Where the sessions are. Events of one session are applied one after the other.
type store interface {
	// Applies an event to a session, to a new one if there is none, and returns its state once that is saved. Fails with
	// errRefused, and saves nothing, if the session does not accept the event.
	post(event event, id string) (state, error)
}

// Values behind one lock, which end with the process.
type memoryStore struct {
	lock     sync.Mutex
	sessions map[string]state
}

func newMemory() *memoryStore { return &memoryStore{sessions: map[string]state{}} }

func (store *memoryStore) post(event event, id string) (state, error) {
	store.lock.Lock()
	defer store.lock.Unlock()
	current, found := store.sessions[id]
	if !found {
		current = newState(id)
	}
	next, err := current.after(event)
	if err == nil {
		store.sessions[id] = next
	}
	return next, err
}

// What both durable stores do between reading and writing: returns the state after an event, and as the JSON to save.
// Nothing is saved of a new session.
func postToSaved(saved []byte, event event, id string) (state, []byte, error) {
	current := newState(id)
	if saved != nil {
		current = state{}
		if err := json.Unmarshal(saved, &current); err != nil {
			return current, nil, err
		}
	}
	next, err := current.after(event)
	if err != nil {
		return next, nil, err
	}
	changed, err := json.Marshal(next)
	return next, changed, err
}

// A row for each session, a transaction for each event, which is flushed when it is committed.
//
// SQLite runs one writing transaction at a time. The lock lets them wait in order: connections of their own would try
// again and again while the database is busy, and a pool of one connection gives it to any that waits.
type sqliteStore struct {
	lock     sync.Mutex
	database *sql.DB
}

func openSQLite(file string) (*sqliteStore, error) {
	database, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, err
	}
	_, err = database.Exec("CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, state BLOB NOT NULL)")
	return &sqliteStore{database: database}, err
}

func (store *sqliteStore) post(event event, id string) (state, error) {
	store.lock.Lock()
	defer store.lock.Unlock()
	transaction, err := store.database.Begin()
	if err != nil {
		return state{}, err
	}
	// Does nothing after Commit.
	defer transaction.Rollback()
	var saved []byte
	err = transaction.QueryRow("SELECT state FROM sessions WHERE id = ?", id).Scan(&saved)
	if err != nil && err != sql.ErrNoRows {
		return state{}, err
	}
	next, changed, err := postToSaved(saved, event, id)
	if err != nil {
		return next, err
	}
	_, err = transaction.Exec(
		"INSERT INTO sessions VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state", id, changed)
	if err != nil {
		return next, err
	}
	return next, transaction.Commit()
}

// A value for each session. With `appendfsync always`, Redis flushes what it has written for all waiting clients before
// it answers them.
type redisStore struct{ connections *redis.Pool }

func openRedis(address string) *redisStore {
	return &redisStore{&redis.Pool{
		// As many as the load has, so that none is opened for a single event.
		MaxIdle: 64,
		Dial:    func() (redis.Conn, error) { return redis.Dial("tcp", address) },
	}}
}

func (store *redisStore) post(event event, id string) (state, error) {
	connection := store.connections.Get()
	defer connection.Close()
	key := "session:" + id
	for {
		connection.Send("WATCH", key)
		saved, err := redis.Bytes(connection.Do("GET", key))
		if err != nil && err != redis.ErrNil {
			return state{}, err
		}
		next, changed, err := postToSaved(saved, event, id)
		if err != nil {
			return next, err
		}
		connection.Send("MULTI")
		connection.Send("SET", key, changed)
		executed, err := connection.Do("EXEC")
		// Nil if another event has changed the session since WATCH: this one is applied to what that one saved.
		if err != nil || executed != nil {
			return next, err
		}
	}
}
