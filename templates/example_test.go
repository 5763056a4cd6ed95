package templates_test

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/templates"
)

func Example() {
	env := &templates.Env{
		Facts: map[string]any{"host": map[string]any{"info": map[string]any{"os": "linux"}}},
		Data:  map[string]any{"port": int64(8080)},
	}
	for _, source := range []string{
		"{{ Data.port }}",
		"on ${ lookup('facts.host.info.os') }, port {{ Data.port + 1 }}",
		"{{ Data.prot }}",
	} {
		text, err := templates.Parse(source, templates.Position{File: "site.yaml", Line: 12, Column: 16})
		if err != nil {
			fmt.Println(err)
			continue
		}
		value, err := text.Eval(context.Background(), env)
		fmt.Printf("%T %v %v\n", value, value, err)
	}
	// Output:
	// int64 8080 <nil>
	// string on linux, port 8081 <nil>
	// <nil> <nil> site.yaml:12:24: missing key "Data.prot"
	//   hint: did you mean "port"? if the key may be missing, write Data.prot ?? DEFAULT
}
