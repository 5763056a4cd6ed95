package schematest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// strange are values that do not belong where they are put, and some that do.
var strange = []string{
	"~", "true", "off", "5", "-1", "0.5", "0", "''", "x", "'5'", "'true'", "10%", "/a", "0644", "'0644'", "absent",
	"[]", "[x]", "[5]", "[~]", "[[x]]", "[A=b]", "['exec#a']", "{}", "{x: y}", "{x: }", "[{x: }]", "{name: x}",
	"'{{ Data.x }}'", "'${ 1 }'", "['{{ Data.x }}']", "'x {{ 1 }} y'", "'{{ x'",
}

// Mutate changes a YAML file at up to three random places: an entry is dropped or
// added, a value replaced or taken from elsewhere. words are keys to add.
func Mutate(t testing.TB, rng *rand.Rand, data []byte, words []string) []byte {
	t.Helper()
	documents := decode(t, data)
	m := mutator{rng: rng, words: words}
	for range 1 + rng.IntN(3) {
		m.places = nil
		for _, d := range documents {
			m.collect(d)
		}
		m.change(t)
	}
	return encode(t, documents)
}

func decode(t testing.TB, data []byte) []*yaml.Node {
	t.Helper()
	var documents []*yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			return documents
		}
		require.NoError(t, err)
		documents = append(documents, &n)
	}
}

func encode(t testing.TB, documents []*yaml.Node) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	for _, d := range documents {
		require.NoError(t, enc.Encode(d))
	}
	return b.Bytes()
}

type mutator struct {
	rng    *rand.Rand
	words  []string
	places []*yaml.Node // every node that holds others
}

func (m *mutator) collect(n *yaml.Node) {
	if n.Kind != yaml.AliasNode && len(n.Content) > 0 {
		m.places = append(m.places, n)
	}
	for _, c := range n.Content {
		m.collect(c)
	}
}

// change makes one change.
func (m *mutator) change(t testing.TB) {
	if len(m.places) == 0 {
		return
	}
	n := m.places[m.rng.IntN(len(m.places))]
	width := 1
	if n.Kind == yaml.MappingNode {
		width = 2
	}
	entry := m.rng.IntN(len(n.Content)/width) * width
	value := entry + width - 1
	switch kind := m.rng.IntN(5); {
	case kind == 0 && n.Kind != yaml.DocumentNode:
		n.Content = append(append([]*yaml.Node{}, n.Content[:entry]...), n.Content[entry+width:]...)
	case kind == 1 && n.Kind == yaml.MappingNode:
		n.Content = append(append([]*yaml.Node{}, n.Content...), m.key(), m.value(t))
	case kind == 2 && n.Kind == yaml.SequenceNode:
		n.Content = append(append([]*yaml.Node{}, n.Content...), m.value(t))
	case kind == 3 && n.Kind == yaml.MappingNode:
		n.Content[entry] = m.key()
	case kind == 4:
		other := m.places[m.rng.IntN(len(m.places))]
		n.Content[value] = copied(other.Content[len(other.Content)-1])
	default:
		n.Content[value] = m.value(t)
	}
}

func (m *mutator) key() *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: m.words[m.rng.IntN(len(m.words))]}
}

func (m *mutator) value(t testing.TB) *yaml.Node {
	return decode(t, []byte(strange[m.rng.IntN(len(strange))]))[0].Content[0]
}

// copied keeps a tree a tree when a part of it is put below itself.
func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, part := range n.Content {
		c.Content[i] = copied(part)
	}
	return &c
}
