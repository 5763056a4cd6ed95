package varfiles

import "github.com/ccm-push/ccm-push/inventory/yamlpos"

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
	documents, err := yamlpos.Parse(path, data, yamlpos.PlainTag("!unsafe"), yamlpos.KeepEncrypted())
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
