package inventory_test

import (
	"fmt"

	"github.com/ccm-push/ccm-push/inventory"
)

func Example() {
	inv, err := inventory.Parse("hosts.yaml", []byte(`
web:
  connect: {user: deploy}
  vars: {http_port: 80}
  hosts:
    web[1:3]:
    web4: {connect: {address: 192.0.2.4}, http_port: 8080}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	hosts, _, err := inv.Select("web:!web[0]")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range hosts {
		c := h.Connection()
		fmt.Println(h.Name, c.User, c.Address, h.Vars()["http_port"])
	}
	// Output:
	// web2 deploy web2 80
	// web3 deploy web3 80
	// web4 deploy 192.0.2.4 8080
}
