package ansible_test

import (
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func Example() {
	n := ansible.Literal(&yamlpos.Node{File: "hosts.ini", Line: 1, Column: 10}, "{'ports': (80, 443), 'on': True}")
	fmt.Println(ansible.Str(n))
	fmt.Print(ansible.JSON(n))
	// Output:
	// {'ports': [80, 443], 'on': True}
	// {
	//     "on": true,
	//     "ports": [
	//         80,
	//         443
	//     ]
	// }
}
