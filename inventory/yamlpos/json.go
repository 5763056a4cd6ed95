package yamlpos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// JSON gives the tree as JSON of at most limit bytes: maps in the order of the file,
// numbers with all their digits, dates as the texts they are written as. What JSON has
// no number for (.inf, .nan) is an error, and so is a tree whose aliases make more
// of it than limit.
func (n *Node) JSON(limit int) (json.RawMessage, error) {
	w := jsonWriter{limit: limit}
	if err := w.node(n); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

type jsonWriter struct {
	out   bytes.Buffer
	limit int
}

func (w *jsonWriter) node(n *Node) (err error) {
	switch n.Kind {
	case Map:
		err = w.pairs(n)
	case List:
		err = w.items(n)
	default:
		err = w.scalar(n)
	}
	if err == nil && w.out.Len() > w.limit {
		return n.Errorf("an alias (*name) counts as often as it is used", "more than %d KiB as JSON", w.limit>>10)
	}
	return err
}

func (w *jsonWriter) pairs(n *Node) error {
	w.out.WriteByte('{')
	for i, p := range n.Pairs {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.text(p.Key.Text)
		w.out.WriteByte(':')
		if err := w.node(p.Value); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *jsonWriter) items(n *Node) error {
	w.out.WriteByte('[')
	for i, item := range n.Items {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.node(item); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

func (w *jsonWriter) text(s string) {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // into memory, and a string: cannot fail
	w.out.Truncate(w.out.Len() - len("\n"))
}

func (w *jsonWriter) scalar(n *Node) error {
	switch v := n.Value.(type) {
	case nil:
		w.out.WriteString("null")
	case bool:
		fmt.Fprint(&w.out, v)
	case int64, float64:
		text, err := number(n)
		if err != nil {
			return err
		}
		w.out.WriteString(text)
	default:
		w.text(n.Text)
	}
	return nil
}

// number writes a number as JSON does. The text of the file has digits that a
// float64 may not have.
func number(n *Node) (string, error) {
	if isJSONNumber(n.Text) {
		return n.Text, nil
	}
	f, isFloat := n.Value.(float64)
	if !isFloat {
		return fmt.Sprint(n.Value), nil
	}
	if i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Text, "_", ""), 0); ok {
		return i.String(), nil
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "", n.Errorf("", "JSON has no number %s", n.Text)
	}
	b, err := json.Marshal(f)
	return string(b), err
}

func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}
