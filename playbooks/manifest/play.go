package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/document"
	"github.com/ccm-push/ccm-push/playbooks/manifest/archive"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/templates"
)

// A Play is a CCM manifest and where it runs.
type Play struct {
	Name         string // as written, or the file's name
	File         string // that the resources stand in
	Folder       string // the only one its files are read from
	Programs     string // a folder that takes the place of resources/ in Folder; "" is that
	Hosts        *yamlpos.Node
	Become       *bool // nil: as the inventory or the command line says
	BecomeUser   string
	BecomeMethod string
	Serial       []BatchSize // empty: all hosts in one batch
	MaxFail      *float64    // percent of a batch's hosts; nil: no limit
	Strategy     string      // see [Play.Graph]
	Parallel     int         // resources of a host at once, in a graph: 1-64
	Tags         []string
	// RememberedAs is the name of the play for its hosts, by which they know in later
	// runs what it had them do; nil if they remember nothing.
	RememberedAs *yamlpos.Node
	Data         templates.Source
	Over         []templates.Source // data of the plays that include this one, the nearest first
	FailOnError  bool
	Pre, Post    *Value // messages; nil if there is none
	Resources    []*Resource
	// Configuration is the DSC configuration document that the play is made of; nil if
	// it is none.
	Configuration *document.Document
	// JetFile names a template of the folder that gives the resources of each
	// host, in place of Resources; nil if there is none. See [Play.Generate].
	JetFile *yamlpos.Node

	registry  modules.Registry
	nesting   *nesting
	applied   []string          // the manifests that lead to a nested one, itself the last
	confined  archive.Enclosure // of a manifest in an archive
	selection *Selection        // of the resources that JetFile gives; nil: all
	warnings  []string          // on the first play of a file
}

// Type finds a resource type by name.
func (p *Play) Type(name string) (modules.Type, bool) { return p.registry.Lookup(name) }

// SplitSent is [reference.SplitValue], for the types of the play.
func (p *Play) SplitSent(n *yamlpos.Node, exists func(ref string) bool) (ref, key string, err error) {
	return reference.SplitValue(n, p.registry, exists)
}

// HostPattern is the play's own pattern: "all" if it has none.
func (p *Play) HostPattern() string {
	if p.Hosts == nil {
		return "all"
	}
	return p.Hosts.Text
}

// plays reads what stands in the place of one play: itself, or those that it
// includes.
func (l *loader) plays(n *yamlpos.Node) []*Play {
	var k keys.Play
	if l.playbook(n, &k) {
		return nil
	}
	l.decode(l.withoutForeign(n), &k)
	p := &Play{
		Name:         cmp.Or(k.Name, l.name),
		File:         l.file,
		Folder:       l.folder,
		Hosts:        scalar(n.Get("hosts")),
		Become:       k.Become,
		BecomeUser:   k.BecomeUser,
		BecomeMethod: k.Method,
		Tags:         k.Tags,
		FailOnError:  k.CCM.FailOnError,
		MaxFail:      l.percentage(given(n.Get("max_fail_percentage")), k.MaxFail),
		Serial:       l.serial(given(n.Get("serial"))),
		Data:         l.data(n),
		registry:     l.registry,
		nesting:      l.nesting,
	}
	if m := given(n.Get("become_method")); m != nil && m.Kind == yamlpos.Scalar && !slices.Contains([]string{"sudo", "su", "doas"}, m.Text) {
		l.add(m.Errorf("write sudo, su or doas", "become_method %q is not known", m.Text))
	}
	l.checkTagTexts(n.Get("tags"))
	l.strategy(p, n, &k)
	p.RememberedAs = l.rememberedAs(given(n.Get("remembered_as")))
	l.remembered = given(n.Get("remembered_as")) != nil
	if include := given(n.Get("include")); include != nil {
		return l.include(p, n, include)
	}
	l.ccm(p, n)
	return []*Play{p}
}

// playbook reports that n is a playbook of Ansible, with all else that is wrong with its
// keys: nothing of it runs. It reports nothing, and is false, if n is none.
func (l *loader) playbook(n *yamlpos.Node, into any) bool {
	first := slices.IndexFunc(n.Pairs, func(p yamlpos.Pair) bool { return playbookKeys[p.Key.Text] != "" })
	if first < 0 {
		return false
	}
	key := n.Pairs[first].Key.Text
	l.add(n.Errorf(fmt.Sprintf("here a play has %s in place of %s; see docs/from-ansible.md", playbookKeys[key], key), "this is a playbook of Ansible"))
	rest := *n
	rest.Pairs = slices.Delete(slices.Clone(n.Pairs), first, first+1)
	l.decode(l.withoutForeign(&rest), into)
	l.serial(given(n.Get("serial")))
	l.checkTagTexts(n.Get("tags"))
	if given(n.Get("ccm")) != nil {
		l.ccm(&Play{}, n)
	}
	return true
}

// ccm reads the section that makes a play a manifest.
func (l *loader) ccm(p *Play, n *yamlpos.Node) {
	ccm := given(n.Get("ccm"))
	if ccm == nil {
		l.add(n.Errorf("a play needs ccm: {resources: [...]}", "there is no ccm section"))
		return
	}
	if ccm.Kind != yamlpos.Map { // which decoding has reported
		return
	}
	p.Pre, p.Post = l.message(ccm.Get("pre_message")), l.message(ccm.Get("post_message"))
	resources, jetFile := given(ccm.Get("resources")), given(ccm.Get("resources_jet_file"))
	switch {
	case jetFile != nil && resources != nil:
		l.add(jetFile.Errorf("keep one of them", "resources_jet_file and resources cannot be used together"))
	case jetFile != nil:
		p.JetFile = l.literalText("resources_jet_file", jetFile)
	case resources == nil && hasUnknown(ccm): // perhaps that was meant
	case resources != nil && resources.Kind == yamlpos.List && len(resources.Items) == 0 && l.remembered: // all that it had is undone
	case resources == nil, resources.Kind == yamlpos.List && len(resources.Items) == 0:
		l.add(cmp.Or(resources, ccm).Errorf("", "manifest must contain resources"))
	case resources.Kind != yamlpos.List:
		l.add(resources.Errorf("write a list: - file: [...]", "resources is not a list"))
	default:
		p.Resources = l.resources(resources)
	}
}

// hasUnknown reports whether a ccm section has keys that decoding has refused.
func hasUnknown(ccm *yamlpos.Node) bool {
	return slices.ContainsFunc(ccm.Pairs, func(p yamlpos.Pair) bool { return !slices.Contains(keys.OfCCM, p.Key.Text) })
}

// literalText gives a scalar that no host is known for yet, so that it cannot
// hold expressions; nil if it is wrong.
func (l *loader) literalText(key string, n *yamlpos.Node) *yamlpos.Node {
	switch {
	case n.Kind != yamlpos.Scalar: // which decoding has reported
		return nil
	case l.isOpen(n):
		l.add(n.Errorf("write a name: no host is known when it is read; hierarchy and overrides choose data by host, control chooses resources",
			"%s cannot be an expression", key))
		return nil
	}
	return n
}

// given is nil for what is null: that counts as not given.
func given(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || n.Kind == yamlpos.Scalar && n.Value == nil {
		return nil
	}
	return n
}

// scalar is nil for what is null, and for lists and maps, which decoding has
// reported.
func scalar(n *yamlpos.Node) *yamlpos.Node {
	if n = given(n); n == nil || n.Kind != yamlpos.Scalar {
		return nil
	}
	return n
}

func (l *loader) message(n *yamlpos.Node) *Value {
	if given(n) == nil {
		return nil
	}
	v := l.value(n)
	return &v
}

// percentage checks the bounds of a share.
func (l *loader) percentage(n *yamlpos.Node, share *float64) *float64 {
	if share != nil && !(*share >= 0 && *share <= 100) { // so that .nan is refused too
		l.add(n.Errorf("", "%s is outside 0-100", n.Text))
	}
	return share
}
