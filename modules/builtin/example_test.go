package builtin_test

import (
	"fmt"

	"github.com/ccm-push/ccm-push/modules/builtin"
)

func ExampleTypes() {
	res, err := builtin.Types().Decode("file", []byte(`{"name":"/etc/motd","contents":"hi","owner":"root","group":"root","mode":"9"}`))
	fmt.Println(res, err)
	// Output: <nil> mode: mode "9" has a digit outside 0-7 (write an octal string such as mode: "0644")
}
