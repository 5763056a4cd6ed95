package parcel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Sealed opens the encrypted values and files of a run for workers, which have no keys of the operator. Workers get the texts, sealed to
// their own keys.
type Sealed struct {
	mu    sync.Mutex
	tags  []string
	nodes []*yamlpos.Node
	ring  *sealed.Ring // keys of the operator
	// noting is ring, and notes each encrypted value.
	noting *sealed.Ring
}

// Recording returns a ring that opens the same values as ring, and notes them.
func (s *Sealed) Recording(ring *sealed.Ring) *sealed.Ring {
	if ring == nil || s.noting != nil {
		return s.noting
	}
	s.ring = ring
	noting := *ring
	s.noting = &noting
	noting.Schemes = make([]sealed.Scheme, len(ring.Schemes))
	for i, scheme := range ring.Schemes {
		noting.Schemes[i] = notingScheme{scheme, s}
		s.tags = append(s.tags, scheme.Tags()...)
	}
	return s.noting
}

type notingScheme struct {
	sealed.Scheme
	to *Sealed
}

// Check implements [sealed.Scheme].
func (n notingScheme) Check(node *yamlpos.Node) error {
	n.to.mu.Lock()
	if !slices.Contains(n.to.nodes, node) {
		n.to.nodes = append(n.to.nodes, node)
	}
	n.to.mu.Unlock()
	return n.Scheme.Check(node)
}

// Opened holds the texts of values and files, by the hash of their encrypted form.
type Opened struct {
	Tags   []string          `json:"tags,omitempty"`
	Values map[string]string `json:"values,omitempty"`
	Files  map[string][]byte `json:"files,omitempty"`
}

func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// keyOf returns the key of an encrypted value in [Opened.Values]: the hash of its text, at any position.
func keyOf(n *yamlpos.Node) string {
	program := ""
	if n.Sealed.Program != nil {
		text, err := json.Marshal(n.Sealed.Program.Any())
		if err != nil {
			return ""
		}
		program = string(text)
	}
	return hashOf(n.Sealed.Tag, n.Text, program)
}

// Open opens the noted values. It omits values that cannot be opened: a worker that needs one reports an error.
func (s *Sealed) Open() Opened {
	if s == nil {
		return Opened{}
	}
	s.mu.Lock()
	nodes := slices.Clone(s.nodes)
	s.mu.Unlock()
	yamlpos.OpenAll(nodes)
	all := Opened{Tags: s.tags, Values: map[string]string{}, Files: map[string][]byte{}}
	for _, n := range nodes {
		if text, err := n.Open(); err == nil {
			all.Values[keyOf(n)] = text
		}
	}
	return all
}

// AddFile adds the text of a file, if the file is encrypted as a whole.
func (s *Sealed) AddFile(to *Opened, name string, data []byte) {
	if s == nil || s.ring == nil {
		return
	}
	if text, sealed, err := s.ring.File(name, data); sealed && err == nil {
		to.Files[hashOf(string(data))] = text
	}
}

// Ring returns a ring that opens these values and files, or nil.
func (o Opened) Ring() *sealed.Ring {
	if len(o.Tags) == 0 {
		return nil
	}
	return &sealed.Ring{Schemes: []sealed.Scheme{openedScheme{o}}}
}

type openedScheme struct{ Opened }

var errNotOpened = errors.New("it could not be opened where the run was begun")

// Tags implements [sealed.Scheme].
func (s openedScheme) Tags() []string { return s.Opened.Tags }

// Check implements [sealed.Scheme].
func (s openedScheme) Check(*yamlpos.Node) error { return nil }

// Open implements [sealed.Scheme].
func (s openedScheme) Open(n *yamlpos.Node) (string, error) {
	if text, ok := s.Values[keyOf(n)]; ok {
		return text, nil
	}
	return "", n.Errorf("", "%v", errNotOpened)
}

// IsFile implements [sealed.Scheme].
func (s openedScheme) IsFile(data []byte) bool {
	_, ok := s.Files[hashOf(string(data))]
	return ok
}

// OpenFile implements [sealed.Scheme].
func (s openedScheme) OpenFile(_ string, data []byte) ([]byte, error) {
	return s.Files[hashOf(string(data))], nil
}
