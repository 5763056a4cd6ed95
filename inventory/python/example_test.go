package python_test

import (
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/python"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func Example() {
	n := python.Literal(&yamlpos.Node{File: "hosts.ini", Line: 1, Column: 10}, "{'ports': (80, 443), 'on': True}")
	fmt.Println(python.Str(n))
	fmt.Print(python.JSON(n))
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
