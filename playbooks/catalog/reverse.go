package catalog

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// remembered is what hosts are to remember of a play; nil is nothing.
func remembered(p *manifest.Play) *modules.Remember {
	if p.RememberedAs == nil {
		return nil
	}
	return &modules.Remember{As: p.RememberedAs.Text, Whole: p.Whole()}
}

// notWhole notes that the play has resources which are in no entry, and of which it
// cannot be said what they are called.
func (p *compilation) notWhole() {
	if m := p.out.Catalog.Remember; m != nil {
		m.Whole = false
	}
}

// stays notes that a resource which is in no entry has not left the manifest.
func (p *compilation) stays(typeName, name string) {
	if m := p.out.Catalog.Remember; m != nil {
		m.Kept = append(m.Kept, typeName+"#"+name)
	}
}
