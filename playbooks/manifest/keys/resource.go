package keys

import "github.com/ccm-push/ccm-push/modules/health"

// Resource is the keys that every type has. The type's own properties stand
// beside them.
type Resource struct {
	Alias     string   `json:"alias" doc:"another name, for references and reports"`
	Require   []string `json:"require" doc:"earlier resources, as type#name, without which this one is skipped"`
	Subscribe []string `json:"subscribe" doc:"earlier resources whose change refreshes this one"`
	Before    []string `json:"before" doc:"later resources that are skipped without this one: require, written at the other end"`
	Notify    []string `json:"notify" doc:"later resources that a change of this one refreshes: subscribe, written at the other end"`
	Control   Control  `json:"control" hint:"write control: {if: Data.x == 'y'}" doc:"whether the resource is managed at all"`
	Each      any      `json:"each" doc:"a list: one resource per element, which is Item"`
	Noop      bool     `json:"noop" doc:"only predict this resource, also in a run that changes things"`
	Sensitive bool     `json:"sensitive" doc:"show no content, output or diff of it anywhere"`
	Tags      []string `json:"tags" doc:"labels of the resource"`

	Health []health.Check `json:"health_checks" hint:"write - command: /usr/lib/nagios/plugins/check_disk -w 10%" doc:"questions to the host after the resource has had its turn; if the answer is not OK, it has failed"`

	Meta
	Recv   map[string]any `json:"recv" hint:"write recv: {content: exec#token.stdout}" doc:"properties whose values another resource sends: PROPERTY: type#name.key, or PROPERTY: {host: NAME, from: type#name.key}"`
	Export []string       `json:"export" doc:"the values that other hosts may receive, such as stdout"`

	Register []Registration `json:"register_when_stable" doc:"what CCM publishes once the resource is stable; it is checked and ignored"`
}

// Control is the keys of control.
type Control struct {
	If     string `json:"if" doc:"an expression; the resource is managed when it is true"`
	Unless string `json:"unless" doc:"an expression; the resource is not managed when it is true"`
}

// Import is the keys of a value of recv from another host.
type Import struct {
	Host string `json:"host" required:"true" doc:"the name of the other host in the inventory"`
	From string `json:"from" required:"true" doc:"the resource there and its value: type#name.key"`
}
