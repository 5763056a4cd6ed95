package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// checkPlayFiles refuses names of files of the play that a host could choose: it
// would be given what belongs to another one.
func (l *loader) checkPlayFiles(r *Resource) {
	for _, f := range modules.Fields(r.Type.New()) {
		if f.PlayFile {
			l.playFile(r, r.Properties.Node.Get(f.Name))
		}
	}
}

func (l *loader) playFile(r *Resource, n *yamlpos.Node) {
	if n == nil {
		return
	}
	for _, item := range n.Items {
		l.playFile(r, item)
	}
	text := r.Properties.texts[n]
	if text == nil {
		return
	}
	if text.FromHost() || text.Mentions("Item") && r.Each.FromHost() {
		l.add(n.Errorf(`choose among literals: "{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}", or use data of the inventory`,
			"what a host sent may not name a file of the play"))
	}
}
