package manifest

import "github.com/ccm-push/ccm-push/inventory/yamlpos"

// An Import is a property that a resource receives from a resource of another host.
// Host and From are literal texts: which host tells what to which is for the manifest
// to say, and no fact can lead a value to a host that it is not meant for.
type Import struct {
	Property string        // of the receiver
	Host     *yamlpos.Node // the name of the other host in the inventory
	From     *yamlpos.Node // as it is written: "exec#token.stdout"
	Ref      string        // the resource, by name or alias: "exec#token"
	Key      string        // of its value: "stdout"
}
