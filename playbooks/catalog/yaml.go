package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// maxYAMLJSON bounds a YAML document as JSON, in bytes: aliases can make a small document large.
const maxYAMLJSON = 4 * modules.MaxParse

// maxYAMLCopies bounds the values that aliases and merge keys of a document copy.
const maxYAMLCopies = 100_000

// maxYAMLItems bounds the lines and items of a document, of which YAML makes much more
// than JSON, see [yamlpos.Items].
const maxYAMLItems = 20_000

var byteOrderMark = []byte("\ufeff")

// JSONOfYAML reads a text of at most [modules.MaxParse] bytes that has one YAML document, or is JSON, and returns it as
// JSON. Its errors have the line and the column, after the name if it is not empty.
func JSONOfYAML(name string, text []byte) (json.RawMessage, error) {
	return new(YAMLWork).JSONOfYAML(name, text)
}

// YAMLWork counts what reading documents has taken beyond their lengths, refused ones
// included, for bounds on all of them together.
type YAMLWork struct {
	Copied int // values, by aliases and merge keys
	JSON   int // bytes written
}

// JSONOfYAML is the function of that name, and counts.
func (w *YAMLWork) JSONOfYAML(name string, text []byte) (json.RawMessage, error) {
	if len(text) > modules.MaxParse {
		return nil, &yamlpos.Error{File: name, Msg: fmt.Sprintf("the YAML document has more than %d KiB", modules.MaxParse>>10)}
	}
	n, err := w.oneDocument(name, bytes.TrimPrefix(text, byteOrderMark))
	if err != nil {
		return nil, err
	}
	document, err := n.JSON(maxYAMLJSON)
	if w.JSON += len(document); err != nil {
		w.JSON += maxYAMLJSON
	}
	return document, err
}

// oneDocument reads JSON by itself: yaml.v3 does not know all of its escapes.
func (w *YAMLWork) oneDocument(name string, text []byte) (*yamlpos.Node, error) {
	if json.Valid(text) {
		return yamlpos.ParseJSON(name, text)
	}
	if yamlpos.Items(text) > maxYAMLItems {
		return nil, &yamlpos.Error{File: name, Msg: fmt.Sprintf("the YAML document has more than %d lines and items", maxYAMLItems), Hint: "a longer one can be JSON"}
	}
	docs, err := yamlpos.Parse(name, text, yamlpos.MaxCopies(maxYAMLCopies, &w.Copied))
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		return nil, &yamlpos.Error{File: name, Msg: "no YAML document"}
	case len(docs) > 1:
		return nil, docs[1].Errorf("", "expected one YAML document, found %d", len(docs))
	}
	return docs[0], nil
}

// yaml implements [modules.Source].YAML. It parses files of the play, which are the same for many hosts.
func (m *loadedManifest) yaml(text []byte) (json.RawMessage, error) {
	type answer struct {
		json json.RawMessage
		err  error
	}
	a := m.remembered("YAML "+string(text), func() any {
		document, err := JSONOfYAML("", text)
		return answer{document, err}
	}).(answer)
	return a.json, a.err
}
