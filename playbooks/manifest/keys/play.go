package keys

import (
	"slices"

	"github.com/ccm-push/ccm-push/facts"
)

// MaxParallel bounds how many resources of a host run at once.
const MaxParallel = 64

// Play is the keys of a play. They stand here for decoding; those whose values are
// trees of their own are read from the node.
type Play struct {
	Name       string                 `json:"name" doc:"shown in events and reports"`
	Hosts      string                 `json:"hosts" default:"all" hint:"write one pattern: hosts: web1,web2" doc:"pattern of the hosts it runs on"`
	Become     *bool                  `json:"become" doc:"run the host program as another user"`
	BecomeUser string                 `json:"become_user" default:"root" doc:"the user to become"`
	Method     string                 `json:"become_method" enum:"sudo,su,doas" default:"sudo" doc:"how to become it"`
	Serial     any                    `json:"serial" doc:"batch sizes: a number, a percentage, or a list of them, of which the last one repeats"`
	MaxFail    *float64               `json:"max_fail_percentage" hint:"write the number alone: 5" doc:"when more than this share of a batch's hosts has failed, the run ends"`
	AnyFatal   bool                   `json:"any_errors_fatal" doc:"when a host has failed or cannot be reached, no other one begins, and the run ends"`
	Rollout    Rollout                `json:"rollout" hint:"write keys such as batches: [1, 10%, rest]" doc:"how the play comes over its hosts, and when that stops, in place of serial, max_fail_percentage and any_errors_fatal"`
	Watch      any                    `json:"watch" doc:"what becomes of drift while the hosts are watched (ccm-push watch): report, repair or off, or a map of keys"`
	HostFacts  []string               `json:"hostfacts" doc:"patterns of other hosts that are asked for their facts before the play begins: Hosts['db1'].facts"`
	Facts      map[string]facts.Query `json:"facts" doc:"facts that its hosts are asked for before the first play of the run, by their names: Facts.NAME"`
	Strategy   string                 `json:"strategy" enum:"linear,graph" default:"linear" doc:"linear: resources run in the order written; graph: as they depend on each other, several at once"`
	Parallel   int                    `json:"parallel" doc:"how many resources of a host run at once with strategy graph: 1-64; default 4"`
	Tags       []string               `json:"tags" doc:"labels of the play and of all its resources"`
	Remembered string                 `json:"remembered_as" doc:"a name by which hosts remember the play, for resources with reverse; no other manifests for these hosts may have the same, and it stays when the play is renamed"`
	History    *bool                  `json:"history" default:"true" doc:"keep on the hosts what was there before it is changed, so that the run can be undone (ccm-push undo)"`
	Confirm    string                 `json:"confirm" enum:"auto,always,never" default:"auto" doc:"whether the host takes changes back that are not confirmed over a new login: auto, those that touch how it is reached; always, all; never, none"`
	Within     Seconds                `json:"confirm_within" default:"60s" doc:"how long after the last progress a change may wait for that, 5s-1h"`
	ConfirmVia []string               `json:"confirm_via" doc:"where the changed host is to be reached, each of them: HOST, HOST:PORT, :PORT or ssh://USER@HOST:PORT; default: as the inventory says"`
	Boot       bool                   `json:"confirm_boot" doc:"take back at a boot, too, what was not confirmed before"`
	Defaults   any                    `json:"defaults" doc:"properties and keys of resources that do not have their own: those of a type below its name, and those of all types beside it"`
	Strict     bool                   `json:"strict" doc:"owner, group and mode must be given wherever a file or directory may be made"`
	Data       any                    `json:"data" doc:"values for expressions and templates"`
	VarsFiles  []string               `json:"vars_files" doc:"YAML files with more data, whose keys replace those of data"`
	Hierarchy  any                    `json:"hierarchy" doc:"which overrides apply to a host, and how they are merged"`
	Overrides  any                    `json:"overrides" doc:"values that replace data for hosts that the hierarchy matches"`
	Include    string                 `json:"include" doc:"a manifest file whose plays stand here, with what else this play says"`
	CCM        CCM                    `json:"ccm" doc:"what shall be true of the hosts"`
}

// CCM is the keys of the section that makes a play a manifest of CCM.
type CCM struct {
	FailOnError bool   `json:"fail_on_error" doc:"stop at the first failed resource"`
	PreMessage  string `json:"pre_message" doc:"shown before the first resource"`
	PostMessage string `json:"post_message" doc:"shown when every resource of a host has succeeded"`
	Resources   any    `json:"resources" doc:"the resources, in order"`
	JetFile     string `json:"resources_jet_file" doc:"in place of resources: a Jet template beside the manifest that writes them, as YAML"`
}

// Nested is the keys of a nested manifest: those of a play that do not say where and
// how it runs.
type Nested struct {
	Defaults  any      `json:"defaults"`
	Strict    bool     `json:"strict"`
	Data      any      `json:"data"`
	VarsFiles []string `json:"vars_files"`
	Hierarchy any      `json:"hierarchy"`
	Overrides any      `json:"overrides"`
	CCM       CCM      `json:"ccm"`
}

// NotBesideInclude are keys of a play that one with include may not have.
var NotBesideInclude = []string{"ccm", "defaults", "hierarchy", "history", "overrides", "remembered_as", "strict"}

// Defaults are the keys that defaults of a play may have for all types: what every type
// has, and what says whose files are.
var Defaults = []string{"control", "noop", "sensitive", "retry", "rerun", "delay", "timeout", "limit", "sema", "history", "confirm", "watch", "autoedge", "autogroup", "owner", "group", "mode"}

// OfEveryDefault reports whether a key is one of [Defaults].
func OfEveryDefault(key string) bool { return slices.Contains(Defaults, key) }
