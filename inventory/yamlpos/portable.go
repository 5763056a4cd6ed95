package yamlpos

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Portable is a node that is sent to another machine as JSON, with its positions. Sealed values are opened for that:
// there they are secret texts, which are not evaluated. A value that cannot be opened stays sealed there, and is an
// error where it is used. Comments are omitted.
type Portable struct{ *Node }

// carried is a node in JSON. An empty File means the file of its parent node.
type carried struct {
	File   string     `json:"f,omitempty"`
	Line   int        `json:"l,omitempty"`
	Column int        `json:"c,omitempty"`
	Kind   Kind       `json:"k,omitempty"`
	Text   string     `json:"t,omitempty"`
	Value  string     `json:"v,omitempty"` // a letter for its type, and its text; "" is null
	Flags  string     `json:"x,omitempty"` // a letter each
	Tag    string     `json:"s,omitempty"` // tag of a sealed value
	Items  []*carried `json:"i,omitempty"`
	Pairs  []*carried `json:"p,omitempty"` // keys and values in turn
}

// The letters of carried.Flags.
const (
	quotedFlag   = 'q'
	plainFlag    = 'p'
	computedFlag = 'c'
	secretFlag   = 's'
)

// MarshalJSON implements [json.Marshaler].
func (p Portable) MarshalJSON() ([]byte, error) {
	if p.Node == nil {
		return []byte("null"), nil
	}
	var sealed []*Node
	p.eachSealed(func(n *Node) {
		if n.CanOpen() {
			sealed = append(sealed, n)
		}
	})
	OpenAll(sealed)
	c, err := carry(p.Node, "")
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

func (n *Node) eachSealed(visit func(*Node)) {
	if n.Sealed != nil {
		visit(n)
	}
	for _, item := range n.Items {
		item.eachSealed(visit)
	}
	for _, pair := range n.Pairs {
		pair.Value.eachSealed(visit)
	}
}

// carry returns a node whose parent is in file; "" means no file.
func carry(n *Node, file string) (*carried, error) {
	c := &carried{Line: n.Line, Column: n.Column, Kind: n.Kind, Text: n.Text}
	if n.File != file {
		c.File = n.File
	}
	value, plain := n.Value, n.Plain
	if n.Sealed != nil {
		text, err := "", error(nil)
		if n.CanOpen() {
			text, err = n.Open()
		}
		if !n.CanOpen() || err != nil {
			c.Tag = n.Sealed.Tag
		} else {
			c.Text, value, plain = text, text, true
		}
	}
	var err error
	if c.Value, err = valueText(value); err != nil {
		return nil, n.Errorf("", "%v", err)
	}
	set := []bool{n.Quoted, plain, n.Computed, n.Secret}
	for i, flag := range []rune{quotedFlag, plainFlag, computedFlag, secretFlag} {
		if set[i] {
			c.Flags += string(flag)
		}
	}
	for _, item := range n.Items {
		one, err := carry(item, n.File)
		if err != nil {
			return nil, err
		}
		c.Items = append(c.Items, one)
	}
	for _, pair := range n.Pairs {
		key, err := carry(pair.Key, n.File)
		if err != nil {
			return nil, err
		}
		value, err := carry(pair.Value, n.File)
		if err != nil {
			return nil, err
		}
		c.Pairs = append(c.Pairs, key, value)
	}
	return c, nil
}

// valueText returns the value of a scalar as text that contains its type.
func valueText(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case bool:
		return "b" + strconv.FormatBool(v), nil
	case int64:
		return "i" + strconv.FormatInt(v, 10), nil
	case float64:
		return "d" + strconv.FormatFloat(v, 'g', -1, 64), nil
	case string:
		return "s" + v, nil
	}
	return "", fmt.Errorf("a value of type %T cannot be carried", value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *Portable) UnmarshalJSON(text []byte) error {
	var c *carried
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	if c == nil {
		p.Node = nil
		return nil
	}
	n, err := c.node("")
	p.Node = n
	return err
}

// node returns the carried node; file is the file of its parent.
func (c *carried) node(file string) (*Node, error) {
	if c == nil {
		return nil, errors.New("a value is null")
	}
	n := &Node{File: file, Line: c.Line, Column: c.Column, Kind: c.Kind, Text: c.Text}
	if c.File != "" {
		n.File = c.File
	}
	var err error
	if n.Value, err = valueOf(c.Value); err != nil {
		return nil, err
	}
	has := func(flag rune) bool { return strings.ContainsRune(c.Flags, flag) }
	n.Quoted, n.Plain, n.Computed, n.Secret = has(quotedFlag), has(plainFlag), has(computedFlag), has(secretFlag)
	if c.Tag != "" {
		n.Sealed = &Sealed{Tag: c.Tag}
	}
	if len(c.Pairs)%2 != 0 {
		return nil, fmt.Errorf("a map has %d keys and values", len(c.Pairs))
	}
	for _, item := range c.Items {
		one, err := item.node(n.File)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, one)
	}
	for i := 0; i < len(c.Pairs); i += 2 {
		key, err := c.Pairs[i].node(n.File)
		if err != nil {
			return nil, err
		}
		value, err := c.Pairs[i+1].node(n.File)
		if err != nil {
			return nil, err
		}
		n.Pairs = append(n.Pairs, Pair{key, value})
	}
	return n, nil
}

func valueOf(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	switch rest := text[1:]; text[0] {
	case 'b':
		return strconv.ParseBool(rest)
	case 'i':
		return strconv.ParseInt(rest, 10, 64)
	case 'd':
		return strconv.ParseFloat(rest, 64)
	case 's':
		return rest, nil
	}
	return nil, fmt.Errorf("a value of no known type: %.20q", text)
}
