package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/jsonpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// maxYAMLJSON bounds what a YAML document may come to as JSON, in bytes: aliases
// make much of little.
const maxYAMLJSON = 4 * modules.MaxParse

var byteOrderMark = []byte("\ufeff")

// JSONOfYAML reads a text of at most [modules.MaxParse] bytes that has one YAML
// document, or is JSON, and gives it as JSON. Its errors have the line and the column,
// behind the name if that is not "".
func JSONOfYAML(name string, text []byte) (json.RawMessage, error) {
	if len(text) > modules.MaxParse {
		return nil, &yamlpos.Error{File: name, Msg: fmt.Sprintf("the YAML document has more than %d KiB", modules.MaxParse>>10)}
	}
	n, err := oneDocument(name, bytes.TrimPrefix(text, byteOrderMark))
	if err != nil {
		return nil, err
	}
	return n.JSON(maxYAMLJSON)
}

// oneDocument reads JSON by itself: yaml.v3 does not know all of its escapes.
func oneDocument(name string, text []byte) (*yamlpos.Node, error) {
	if json.Valid(text) {
		return jsonpos.Parse(name, text)
	}
	docs, err := yamlpos.Parse(name, text)
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		return nil, &yamlpos.Error{File: name, Msg: "there is no YAML document"}
	case len(docs) > 1:
		return nil, docs[1].Errorf("", "there are %d YAML documents, and one is wanted", len(docs))
	}
	return docs[0], nil
}
