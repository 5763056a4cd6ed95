package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/manual"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

func manCommand(a *app.App, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "write the man pages of all commands into a folder",
		Long: `ccm-push man writes man pages: for each command into DIR/man1, and for each help topic into
DIR/man7. If DIR is in the search path of the program man, you can open the pages:

  man ccm-push-validate

The variable SOURCE_DATE_EPOCH (seconds since 1970) sets the date of the pages. Without this
variable, the pages have no date.`,
		Example: `  ccm-push man ~/.local/share/man`,
		Args:    arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.TextOnly("man"); err != nil {
				return err
			}
			if len(args) > 1 {
				return fmt.Errorf("man takes one DIR, but got %d arguments", len(args))
			}
			date, err := sourceDate(a.Getenv("SOURCE_DATE_EPOCH"))
			if err != nil {
				return err
			}
			return writeMan(manual.Pages(cmd.Root()), manual.Edition{Date: date, Version: version}, args[0])
		},
	}
}

// sourceDate returns the day of SOURCE_DATE_EPOCH (reproducible-builds.org); empty without it.
func sourceDate(epoch string) (string, error) {
	if epoch == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return "", fmt.Errorf("SOURCE_DATE_EPOCH %q: write seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
}

func writeMan(pages []manual.Page, edition manual.Edition, dir string) error {
	for _, page := range pages {
		path := filepath.Join(dir, fmt.Sprintf("man%d", page.Section()), fmt.Sprintf("%s.%d", page.Name(), page.Section()))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(page.Man(edition)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
