package gather_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/facts/gather"
)

func ExampleGather() {
	config, err := os.UserConfigDir()
	if err != nil {
		config = "" // the facts of the system remain
	}
	text, err := gather.Gather(context.Background(), []string{facts.Memory}, gather.Options{Dirs: gather.Dirs(config)})
	if err != nil {
		fmt.Println(err)
		return
	}
	var report facts.Report
	fmt.Println(json.Unmarshal(text, &report), len(report.Facts))
	// Output: <nil> 1
}
