package keys

import "github.com/ccm-push/ccm-push/inventory/yamlpos"

// Given is nil for what is null: that counts as not given.
func Given(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || n.Kind == yamlpos.Scalar && n.Value == nil {
		return nil
	}
	return n
}

// Scalar is nil for what is not given, and for lists and maps, which decoding reports.
func Scalar(n *yamlpos.Node) *yamlpos.Node {
	if n = Given(n); n == nil || n.Kind != yamlpos.Scalar {
		return nil
	}
	return n
}
