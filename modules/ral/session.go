package ral

import (
	"os"
	"sync"
)

// session remembers what the providers of a host have said of themselves, for as long
// as the host program runs.
type session struct {
	getenv func(string) string
	mu     sync.Mutex
	known  map[string]*metadata // by what they were made of
}

func newSession() *session {
	return &session{getenv: os.Getenv, known: map[string]*metadata{}}
}

func (s *session) recall(key string) *metadata {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[key]
}

func (s *session) remember(key string, m *metadata) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = m
}
