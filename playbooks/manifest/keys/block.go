package keys

// Block is the keys of a block.
type Block struct {
	Block     any      `json:"block" doc:"a list of resources, of which the first failure ends the rest"`
	Rescue    any      `json:"rescue" doc:"resources that run if one of block has failed; when they succeed, that failure counts as rescued"`
	Always    any      `json:"always" doc:"resources that run whatever has become of the others"`
	Name      string   `json:"name" doc:"what the block is called, for references and reports; default FILE:LINE"`
	Require   []string `json:"require" doc:"earlier resources, as type#name, without which the block is skipped"`
	Before    []string `json:"before" doc:"later resources that are skipped without the block"`
	Notify    []string `json:"notify" doc:"later resources that a change in the block refreshes"`
	Control   Control  `json:"control" hint:"write control: {if: Data.x == 'y'}" doc:"whether the block is managed at all"`
	Each      any      `json:"each" doc:"a list: one block per element, which is Item"`
	Noop      bool     `json:"noop" doc:"only predict its resources, also in a run that changes things"`
	Sensitive bool     `json:"sensitive" doc:"show no content, output or diff of its resources anywhere"`
	Tags      []string `json:"tags" doc:"labels of its resources"`
	On        string   `json:"on" hint:"write on: HOST" doc:"where its resources run that name no host themselves"`
	Once      bool     `json:"once" hint:"write true or false, and decide with control" doc:"each of its resources runs for one host of a batch"`
	Watch     any      `json:"watch" doc:"what becomes of drift of its resources while they are watched"`
	User      string   `json:"user" doc:"who runs the commands of its exec resources that name no user"`
}
