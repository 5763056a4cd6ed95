package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// Answers is a reporter for queries of hosts: it writes the state before from each result, as YAML. If several hosts
// are queried, each answer is a document, after the names of its hosts. Everything else is for another reporter, see
// [Problems].
type Answers struct {
	out    sink
	single bool                // only one host is queried
	coming map[string][]string // documents by host, until the host is finished
	groups []*answerGroup
	known  map[string]*answerGroup // by text
	held   int                     // bytes of the groups
}

type answerGroup struct {
	text  string
	hosts []string
}

// maxHeld bounds the answers that are kept for other hosts to share, in bytes.
const maxHeld = 16 << 20

// NewAnswers makes a reporter that writes to w.
func NewAnswers(w io.Writer) *Answers {
	return &Answers{out: sink{w: w}, coming: map[string][]string{}, known: map[string]*answerGroup{}}
}

// Err is the first error of the writer; nothing was written after it.
func (a *Answers) Err() error { return a.out.err }

// Report takes e down, if it is an answer.
func (a *Answers) Report(e Event) {
	switch e := e.(type) {
	case RunStart:
		a.single = e.Hosts == 1
	case Result:
		if e.State != nil && len(e.State.Before) > 0 {
			a.coming[e.Host] = append(a.coming[e.Host], YAML(e.State.Before))
		}
	case HostDone:
		a.host(e.Host)
	case Summary:
		a.flush()
	}
}

// host takes the answers of a host together.
func (a *Answers) host(name string) {
	text := strings.Join(a.coming[name], "---\n")
	delete(a.coming, name)
	switch {
	case text == "":
		return
	case a.single:
		a.out.write([]byte(text))
		return
	}
	g := a.known[text]
	if g == nil {
		g = &answerGroup{text: text}
		a.known[text], a.groups = g, append(a.groups, g)
		a.held += len(text)
	}
	g.hosts = append(g.hosts, name)
	if a.held > maxHeld {
		a.flush()
	}
}

func (a *Answers) flush() {
	for _, g := range a.groups {
		pattern, _ := Fold(g.hosts, len(g.text)+maxNamesOfAnswer)
		a.out.write([]byte("---\n# " + pattern + "\n" + g.text))
	}
	a.groups, a.known, a.held = nil, map[string]*answerGroup{}, 0
}

// maxNamesOfAnswer bounds the list of an answer's hosts, in columns, in addition to the length of the answer.
const maxNamesOfAnswer = 10_000

// YAML converts JSON to YAML for people. Numbers and the order of maps are kept, and control characters are escaped.
// Text that is not JSON is printed unchanged, on one line.
func YAML(text json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := yamlValue(d, 0)
	if err != nil {
		return Line(string(text)) + "\n"
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return Line(string(text)) + "\n"
	}
	return Block(b.String()) // within quotes, an escape keeps its meaning
}

// maxIndented is the depth up to which values are written on lines of their own. Deeper values share one line:
// otherwise a little JSON would become very much YAML, most of it blanks.
const maxIndented = 12

func yamlValue(d *json.Decoder, depth int) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		return yamlList(d, v == '{', depth)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}, nil
	case string:
		return yamlText(v), nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
}

// yamlList reads the elements of a list or, with their keys, of a map.
func yamlList(d *json.Decoder, isMap bool, depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if isMap {
		n.Kind = yaml.MappingNode
	}
	if depth == maxIndented {
		n.Style = yaml.FlowStyle
	}
	for d.More() {
		v, err := yamlValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, v)
	}
	_, err := d.Token()
	return n, err
}

// yamlText quotes texts with control characters, and texts that only new YAML readers take for texts: yes, 12:30.
func yamlText(s string) *yaml.Node {
	const longest = 20 // length of such texts, in bytes
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case Block(s) != s:
		n.Style = yaml.DoubleQuotedStyle
	case len(s) <= longest:
		if err := n.Encode(s); err != nil {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}

// Problems passes only the errors of a run to a reporter, when the answers are printed elsewhere.
type Problems struct{ Reporter }

// Report passes e on, if it is about a problem.
func (p Problems) Report(e Event) {
	switch e := e.(type) {
	case Result:
		if e.Status != Failed && e.State != nil && len(e.Messages) == 0 {
			return
		}
	case Summary:
		if t := e.Totals; t.Hosts.OK == t.Hosts.Sum() && t.Hosts.NotStarted == 0 && t.Resources.Failed == 0 && !e.Interrupted {
			return
		}
	}
	p.Reporter.Report(e)
}
