package system_test

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

func ExampleNew() {
	host := system.New()
	root, err := host.Files.Stat("/")
	fmt.Println(root.Kind, err)
	exit, err := host.Commands.Probe(context.Background(), modules.Command{Argv: []string{"false"}})
	fmt.Println(exit.Code, err)
	// Output:
	// directory <nil>
	// 1 <nil>
}
