package varfiles

import (
	"bytes"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Read gives the map that one of the files of [Listing.Find] holds. It is nil if
// there is nothing in the file.
func (l Listing) Read(path string) (*yamlpos.Node, error) {
	data, err := l.in.read(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

func parse(path string, data []byte) (*yamlpos.Node, error) {
	if bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT;")) {
		return nil, &yamlpos.Error{
			File: path, Line: 1, Column: 1, Msg: "the file is encrypted by ansible-vault, which is not read",
			Hint: `decrypt it outside: a second -i SCRIPT may print the passwords of a group, such as {"db":{"vars":{"ansible_become_password":"…"}}} (from ansible-vault view, say), and -e @FILE gives variables`,
		}
	}
	documents, err := yamlpos.Parse(path, data, yamlpos.PlainTag("!unsafe"))
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0 || len(documents) == 1 && documents[0].IsNull():
		return nil, nil
	case len(documents) > 1:
		return nil, documents[1].Errorf("remove the --- between them", "a file of variables is one document, not %d", len(documents))
	case documents[0].Kind != yamlpos.Map:
		return nil, documents[0].Errorf("write a map: name: value", "a file of variables is a map, not %s", documents[0].Describe())
	}
	return documents[0], nil
}
