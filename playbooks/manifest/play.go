package manifest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// A Play is a CCM manifest and where it runs.
type Play struct {
	Name         string // as written, or the file's name
	Folder       string // the only one its files are read from
	Hosts        *yamlpos.Node
	Become       *bool // nil: as the inventory or the command line says
	BecomeUser   string
	BecomeMethod string
	Serial       []BatchSize // empty: all hosts in one batch
	MaxFail      *float64    // percent of a batch's hosts; nil: no limit
	Tags         []string
	Data         templates.Source
	FailOnError  bool
	Pre, Post    *Value // messages; nil if there is none
	Resources    []*Resource
}

// HostPattern is the play's own pattern: "all" if it has none.
func (p *Play) HostPattern() string {
	if p.Hosts == nil {
		return "all"
	}
	return p.Hosts.Text
}

// A BatchSize is how many hosts a batch has: a number, or a share of the play's
// hosts.
type BatchSize struct {
	Count   int
	Percent float64 // used when Count is 0
}

// Of gives the size in hosts of n: at least 1.
func (b BatchSize) Of(n int) int {
	if b.Count > 0 {
		return b.Count
	}
	return max(1, int(b.Percent/100*float64(n)))
}

// playKeys are the keys of a play. They stand here for decoding; those whose
// values are trees of their own are read from the node.
type playKeys struct {
	Name       string   `json:"name" doc:"shown in events and reports"`
	Hosts      string   `json:"hosts" default:"all" doc:"pattern of the hosts it runs on"`
	Become     *bool    `json:"become" doc:"run the host program as another user"`
	BecomeUser string   `json:"become_user" default:"root" doc:"the user to become"`
	Method     string   `json:"become_method" enum:"sudo" default:"sudo" doc:"how to become it"`
	Serial     any      `json:"serial" doc:"batch sizes: a number, a percentage, or a list of them, of which the last one repeats"`
	MaxFail    *float64 `json:"max_fail_percentage" doc:"when more than this share of a batch's hosts has failed, the run ends"`
	Tags       []string `json:"tags" doc:"labels of the play"`
	Data       any      `json:"data" doc:"values for expressions and templates"`
	Hierarchy  any      `json:"hierarchy" doc:"which overrides apply to a host, and how they are merged"`
	Overrides  any      `json:"overrides" doc:"values that replace data for hosts that the hierarchy matches"`
	CCM        ccmKeys  `json:"ccm" doc:"what shall be true of the hosts"`
}

type ccmKeys struct {
	FailOnError bool   `json:"fail_on_error" doc:"stop at the first failed resource"`
	PreMessage  string `json:"pre_message" doc:"shown before the first resource"`
	PostMessage string `json:"post_message" doc:"shown when every resource of a host has succeeded"`
	Resources   any    `json:"resources" required:"true" doc:"the resources, in order"`
}

// Keys that are known but not built yet, by where they stand. They are errors,
// because a key that is ignored would be worse.
var (
	laterInPlay     = []string{"include", "vars_files", "strategy"}
	laterInCCM      = []string{"resources_jet_file"}
	laterInResource = []string{"health_checks", "register_when_stable"}
)

// withoutLater reports the keys that are not built yet and leaves them out.
func (l *loader) withoutLater(n *yamlpos.Node, later []string) *yamlpos.Node {
	kept := *n
	kept.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(pair yamlpos.Pair) bool {
		notYet := slices.Contains(later, pair.Key.Text)
		if notYet {
			l.add(notSupported(pair.Key))
		}
		return notYet
	})
	return &kept
}

func notSupported(key *yamlpos.Node) error {
	return key.Errorf("", "%s is not supported yet", key.Text)
}

// decodePlay reads the keys of a play and of its ccm section.
func (l *loader) decodePlay(n *yamlpos.Node) playKeys {
	kept := l.withoutLater(n, laterInPlay)
	for i, pair := range kept.Pairs {
		if pair.Key.Text == "ccm" {
			kept.Pairs[i].Value = l.withoutLater(pair.Value, laterInCCM)
		}
	}
	var keys playKeys
	l.decode(kept, &keys)
	return keys
}

// play reads one play.
func (l *loader) play(n *yamlpos.Node) *Play {
	keys := l.decodePlay(n)
	p := &Play{
		Name:         cmp.Or(keys.Name, l.name),
		Folder:       l.folder,
		Hosts:        given(n.Get("hosts")),
		Become:       keys.Become,
		BecomeUser:   keys.BecomeUser,
		BecomeMethod: keys.Method,
		Tags:         keys.Tags,
		FailOnError:  keys.CCM.FailOnError,
		MaxFail:      l.percentage(given(n.Get("max_fail_percentage")), keys.MaxFail),
		Serial:       l.serial(given(n.Get("serial"))),
		Data:         l.data(n),
	}
	if m := given(n.Get("become_method")); m != nil && m.Kind == yamlpos.Scalar && m.Text != "sudo" {
		l.add(m.Errorf("use sudo", "become_method %q is not supported yet", m.Text))
	}
	l.ccm(p, n)
	return p
}

// ccm reads the section that makes a play a manifest.
func (l *loader) ccm(p *Play, n *yamlpos.Node) {
	ccm := given(n.Get("ccm"))
	if ccm == nil {
		l.add(n.Errorf("a play needs ccm: {resources: [...]}", "there is no ccm section"))
		return
	}
	p.Pre, p.Post = l.message(ccm.Get("pre_message")), l.message(ccm.Get("post_message"))
	resources := given(ccm.Get("resources"))
	switch {
	case ccm.Kind != yamlpos.Map: // which decoding has reported
	case resources == nil, resources.Kind == yamlpos.List && len(resources.Items) == 0:
		l.add(cmp.Or(resources, ccm).Errorf("", "manifest must contain resources"))
	case resources.Kind != yamlpos.List:
		l.add(resources.Errorf("write a list: - file: [...]", "resources is not a list"))
	default:
		p.Resources = l.resources(resources)
	}
}

// given is nil for what is null: that counts as not given.
func given(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || n.Kind == yamlpos.Scalar && n.Value == nil {
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

// data gathers the parts from which a host's data is resolved.
func (l *loader) data(n *yamlpos.Node) templates.Source {
	src, err := templates.ParseSource(templates.Parts{
		Data: n.Get("data"), Hierarchy: n.Get("hierarchy"), Overrides: n.Get("overrides"),
	})
	l.add(err)
	return src
}

// serial reads batch sizes.
func (l *loader) serial(n *yamlpos.Node) []BatchSize {
	if n == nil {
		return nil
	}
	items := []*yamlpos.Node{n}
	if n.Kind == yamlpos.List {
		items = n.Items
	}
	var sizes []BatchSize
	for _, item := range items {
		size, ok := batchSize(item)
		if !ok {
			l.add(item.Errorf("write a number of hosts or a percentage: serial: [1, 10%, 100%]", "%s is no batch size", item.Describe()))
		}
		sizes = append(sizes, size)
	}
	return sizes
}

func batchSize(n *yamlpos.Node) (BatchSize, bool) {
	if n.Kind != yamlpos.Scalar {
		return BatchSize{}, false
	}
	if share, isShare := strings.CutSuffix(n.Text, "%"); isShare {
		percent, err := strconv.ParseFloat(share, 64)
		return BatchSize{Percent: percent}, err == nil && percent > 0 && percent <= 100
	}
	count, err := strconv.Atoi(n.Text)
	return BatchSize{Count: count}, err == nil && count > 0
}
