package keys

import (
	"slices"

	"github.com/ccm-push/ccm-push/facts"
)

// MaxParallel bounds how many resources of a host run at once.
const MaxParallel = 64

// Play has the keys of a play, for decoding. Keys whose values are trees of their own are read from the node.
type Play struct {
	Name       string                 `json:"name" doc:"shown in events and reports"`
	Hosts      string                 `json:"hosts" default:"all" hint:"write one pattern: hosts: web1,web2" doc:"pattern of the hosts it runs on"`
	Become     *bool                  `json:"become" doc:"run the host program as another user"`
	BecomeUser string                 `json:"become_user" default:"root" doc:"the user to become"`
	Method     string                 `json:"become_method" enum:"sudo,su,doas" default:"sudo" doc:"how to become it"`
	Serial     any                    `json:"serial" doc:"batch sizes: a number, a percentage, or a list of them, of which the last one repeats"`
	MaxFail    *float64               `json:"max_fail_percentage" hint:"write the number alone: 5" doc:"the run ends when more than this percentage of the hosts of a batch has failed"`
	AnyFatal   bool                   `json:"any_errors_fatal" doc:"if a host fails or cannot be reached, no other host starts and the run ends"`
	Rollout    Rollout                `json:"rollout" hint:"write keys such as batches: [1, 10%, rest]" doc:"how the play changes its hosts in batches, and when it stops; replaces serial, max_fail_percentage and any_errors_fatal"`
	Watch      any                    `json:"watch" doc:"how ccm-push watch handles drift: report, repair or off, or a map of keys"`
	HostFacts  []string               `json:"hostfacts" doc:"patterns of other hosts whose facts are collected before the play starts: Hosts['db1'].facts"`
	Facts      map[string]facts.Query `json:"facts" doc:"more facts, collected from its hosts before the first play of the run: Facts.NAME"`
	Strategy   string                 `json:"strategy" enum:"linear,graph" default:"linear" doc:"linear: resources run in the order written; graph: in the order of their dependencies, several at once"`
	Parallel   int                    `json:"parallel" doc:"the number of resources of a host that run at once with strategy graph: 1-64; default 4"`
	Tags       []string               `json:"tags" doc:"labels of the play and of all its resources"`
	Remembered string                 `json:"remembered_as" doc:"a unique name under which hosts store the play, for resources with reverse; keep it when you rename the play, and do not use it in other manifests for the same hosts"`
	History    *bool                  `json:"history" default:"true" doc:"save the previous state on the hosts before a change, so that ccm-push undo can restore it"`
	Confirm    string                 `json:"confirm" enum:"auto,always,never" default:"auto" doc:"which changes the host reverts unless a new login confirms them: auto, changes that affect its connection; always, all changes; never, no changes"`
	Within     Seconds                `json:"confirm_within" default:"60s" doc:"how long after the last progress a host waits for the confirmation, 5s-1h"`
	ConfirmVia []string               `json:"confirm_via" doc:"addresses for the confirming login: HOST, HOST:PORT, :PORT or ssh://USER@HOST:PORT; all of them must work; default: the address in the inventory"`
	Boot       bool                   `json:"confirm_boot" doc:"also revert unconfirmed changes when the host boots"`
	Defaults   any                    `json:"defaults" doc:"default properties and keys of resources: at the top level for all types, below the name of a type for that type"`
	Strict     bool                   `json:"strict" doc:"owner, group and mode are required wherever a file or directory can be created"`
	Data       any                    `json:"data" doc:"values for expressions and templates"`
	VarsFiles  []string               `json:"vars_files" doc:"YAML files with more data; their keys override data"`
	Hierarchy  any                    `json:"hierarchy" doc:"which overrides apply to a host, and how they are merged"`
	Overrides  any                    `json:"overrides" doc:"values that replace data for hosts that the hierarchy matches"`
	Include    string                 `json:"include" doc:"a manifest file whose plays are inserted here, with the other keys of this play"`
	CCM        CCM                    `json:"ccm" doc:"the resources of the play, and how they run"`
}

// CCM is the keys of the section that makes a play a manifest of CCM.
type CCM struct {
	FailOnError bool   `json:"fail_on_error" doc:"stop at the first failed resource"`
	PreMessage  string `json:"pre_message" doc:"shown before the first resource"`
	PostMessage string `json:"post_message" doc:"shown when every resource of a host has succeeded"`
	Resources   any    `json:"resources" doc:"the resources, in order"`
	JetFile     string `json:"resources_jet_file" doc:"instead of resources: a Jet template in the folder of the manifest that renders them as YAML"`
}

// Nested has the keys of a nested manifest: the keys of a play except those about where and how it runs.
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

// Defaults lists the keys that the defaults of a play may have for all types: keys of every type, and owner keys of
// files.
var Defaults = []string{"control", "noop", "sensitive", "retry", "rerun", "delay", "timeout", "limit", "sema", "history", "confirm", "watch", "autoedge", "autogroup", "owner", "group", "mode"}

// OfEveryDefault reports whether a key is one of [Defaults].
func OfEveryDefault(key string) bool { return slices.Contains(Defaults, key) }
