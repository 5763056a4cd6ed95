package resource

import (
	"regexp"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

var resultForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(keys.ResultForm) })

// registers reads the name of the result of a resource.
func (rd *Reader) registers(r *manifest.Resource, n *yamlpos.Node) {
	name := keys.Given(n.Get("register"))
	if name == nil || !keys.Common(r.Type, "register") {
		return
	}
	if name = rd.Values.LiteralText("register", name); name == nil {
		return
	}
	if !resultForm().MatchString(name.Text) {
		rd.Report.Add(name.Errorf("write one word that begins with a letter, such as register: version", "%q cannot be the name of a result", name.Text))
		return
	}
	r.Register = name
}
