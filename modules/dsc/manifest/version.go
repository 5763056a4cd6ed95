package manifest

import (
	"fmt"

	"github.com/ccm-push/ccm-push/modules/dsc/versions"
)

// checkVersion reports a version that is none.
func (m *Manifest) checkVersion() error {
	v, err := versions.Parse(m.Version)
	if err != nil {
		return fmt.Errorf("version is %q, which is no semantic version", m.Version)
	}
	if v.IsDate() {
		m.warn("version is the date %s; a semantic version would tell what has changed", m.Version)
	}
	return nil
}
