package pattern_test

import (
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

func Example() {
	fmt.Println(pattern.Fold([]string{"web1", "web3", "web2", "db01"}))
	names, err := pattern.Expand("web[1-5]!web3,db01")
	fmt.Println(names, err)
	// Output:
	// db01,web[1-3]
	// [web1 web2 web4 web5 db01] <nil>
}
