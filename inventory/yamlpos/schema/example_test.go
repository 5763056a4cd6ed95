package schema_test

import (
	"fmt"
	"reflect"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

func Example() {
	type window struct {
		Days int `json:"days" doc:"how long it is open"`
	}
	text, err := schema.Rules{Open: `\{\{`}.Of(reflect.TypeFor[window]()).Properties.Get("days").Encode()
	fmt.Printf("%s%v", text, err)
	// Output:
	// {
	//   "description": "how long it is open",
	//   "type": [
	//     "integer",
	//     "string",
	//     "null"
	//   ],
	//   "pattern": "\\{\\{"
	// }
	// <nil>
}
