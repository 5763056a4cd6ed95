package catalog

// An Import is a property that an entry receives from a resource of another host.
type Import struct {
	Property string
	Host     string // the name in the inventory
	Ref      string // type#name or type#alias there
	Key      string // of the value: "stdout"; dots lead into it
}
