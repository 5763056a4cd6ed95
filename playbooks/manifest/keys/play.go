package keys

// MaxParallel bounds how many resources of a host run at once.
const MaxParallel = 64

// Play is the keys of a play. They stand here for decoding; those whose values are
// trees of their own are read from the node.
type Play struct {
	Name       string   `json:"name" doc:"shown in events and reports"`
	Hosts      string   `json:"hosts" default:"all" hint:"write one pattern: hosts: web1,web2" doc:"pattern of the hosts it runs on"`
	Become     *bool    `json:"become" doc:"run the host program as another user"`
	BecomeUser string   `json:"become_user" default:"root" doc:"the user to become"`
	Method     string   `json:"become_method" enum:"sudo,su,doas" default:"sudo" doc:"how to become it"`
	Serial     any      `json:"serial" doc:"batch sizes: a number, a percentage, or a list of them, of which the last one repeats"`
	MaxFail    *float64 `json:"max_fail_percentage" hint:"write the number alone: 5" doc:"when more than this share of a batch's hosts has failed, the run ends"`
	Strategy   string   `json:"strategy" enum:"linear,graph" default:"linear" doc:"linear: resources run in the order written; graph: as they depend on each other, several at once"`
	Parallel   int      `json:"parallel" doc:"how many resources of a host run at once with strategy graph: 1-64; default 4"`
	Tags       []string `json:"tags" doc:"labels of the play and of all its resources"`
	Remembered string   `json:"remembered_as" doc:"a name by which hosts remember the play, for resources with reverse; no other manifests for these hosts may have the same, and it stays when the play is renamed"`
	Data       any      `json:"data" doc:"values for expressions and templates"`
	VarsFiles  []string `json:"vars_files" doc:"YAML files with more data, whose keys replace those of data"`
	Hierarchy  any      `json:"hierarchy" doc:"which overrides apply to a host, and how they are merged"`
	Overrides  any      `json:"overrides" doc:"values that replace data for hosts that the hierarchy matches"`
	Include    string   `json:"include" doc:"a manifest file whose plays stand here, with what else this play says"`
	CCM        CCM      `json:"ccm" doc:"what shall be true of the hosts"`
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
	Data      any      `json:"data"`
	VarsFiles []string `json:"vars_files"`
	Hierarchy any      `json:"hierarchy"`
	Overrides any      `json:"overrides"`
	CCM       CCM      `json:"ccm"`
}

// NotBesideInclude are keys of a play that one with include may not have.
var NotBesideInclude = []string{"ccm", "hierarchy", "overrides", "remembered_as"}
