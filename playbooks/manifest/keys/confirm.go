package keys

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// CheckConfirm checks a value of confirm. Decoding reports values that are not scalars.
func CheckConfirm(n *yamlpos.Node) error {
	if n = Scalar(n); n == nil || slices.Contains([]string{"auto", "always", "never"}, n.Text) {
		return nil
	}
	return n.Errorf("write auto, always or never", `"confirm" cannot be %q`, n.Text)
}
