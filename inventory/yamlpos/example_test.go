package yamlpos_test

import (
	"fmt"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func Example() {
	documents, err := yamlpos.Parse("site.yml", []byte("owner: root\nmdoe: 0644\nforce: maybe\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var properties struct {
		Owner string `json:"owner"`
		Mode  string `json:"mode"`
		Force bool   `json:"force"`
	}
	fmt.Println(yamlpos.Decode(documents[0], &properties))
	// Output:
	// site.yml:2:1: unknown key "mdoe" (did you mean "mode"?)
	// site.yml:3:8: "force" must be true or false, not the text "maybe"
}
