package keys

// Block is the keys of a block.
type Block struct {
	Block   any      `json:"block" doc:"a list of resources; after the first failure the others are skipped"`
	Rescue  any      `json:"rescue" doc:"resources that run if a resource of block fails; if they succeed, the failure counts as rescued"`
	Always  any      `json:"always" doc:"resources that always run, after block and rescue"`
	Name    string   `json:"name" doc:"the name of the block for references and reports; default FILE:LINE"`
	Require []string `json:"require" doc:"earlier resources, as type#name, without which the block is skipped"`
	Before  []string `json:"before" doc:"later resources that are skipped without the block"`
	Notify  []string `json:"notify" doc:"later resources that a change in the block refreshes"`
	Control Control  `json:"control" hint:"write control: {if: Data.x == 'y'}" doc:"whether the block is managed at all"`
	Scope
	Noop      bool     `json:"noop" doc:"only predict its resources, also in a run that changes things"`
	Sensitive bool     `json:"sensitive" doc:"show no content, output or diff of its resources anywhere"`
	Tags      []string `json:"tags" doc:"labels of its resources"`
	On        string   `json:"on" hint:"write on: HOST" doc:"the host where its resources run, unless they have their own on"`
	Once      bool     `json:"once" hint:"write true or false, and decide with control" doc:"each of its resources runs for one host of a batch"`
	Watch     any      `json:"watch" doc:"how ccm-push watch handles drift of its resources"`
	User      string   `json:"user" doc:"the user for the commands of its exec resources, unless they have their own user"`
}
