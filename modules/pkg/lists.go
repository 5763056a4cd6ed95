package pkg

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// younger reports whether a folder with lists of packages has changed within that
// time, in whole minutes.
func (a *access) younger(ctx context.Context, dir string, within time.Duration) (bool, error) {
	minutes := max(1, int(within.Minutes()))
	exit, err := a.query(ctx, "", nil, "find", dir, "-maxdepth", "0", "-mmin", fmt.Sprintf("-%d", minutes))
	return exit.Code == 0 && strings.TrimSpace(exit.Stdout.Text) != "", err
}

// touch notes that the lists have been fetched: package managers leave the time of
// their folder alone where they find nothing new.
func (a *access) touch(ctx context.Context, dir string) error {
	exit, err := a.Run(ctx, modules.Command{Argv: []string{"touch", "-c", dir}, Timeout: queryTimeout})
	if err == nil && exit.Code != 0 {
		err = failure("touch", exit, nil)
	}
	return err
}
