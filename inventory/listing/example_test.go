package listing_test

import (
	"fmt"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
)

func Example() {
	inv, err := inventory.Parse("hosts.yaml", []byte(`
web:
  vars: {http_port: 80}
  hosts: {"web[1:3]": {ansible_password: hunter2}}
db: {hosts: {db1: }}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(listing.TreeOf(inv, inv.Hosts(), []string{"hosts.yaml"}))
	text, withheld := listing.HostVars(inv.Host("web2"))
	fmt.Print(text, withheld, "\n")
	// Output:
	// 4 hosts in 4 groups, from hosts.yaml
	// all (4)
	//   ungrouped (0)
	//   web (3): web[1-3]
	//   db (1): db1
	// {
	//     "ansible_password": "(secret)",
	//     "http_port": 80
	// }
	// true
}
