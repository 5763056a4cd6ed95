package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

func versionCommand(f *flags.Work, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version and the built-in host programs",
		Example: `  ccm-push version`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := p.TextOnly("version"); err != nil {
				return err
			}
			list, err := f.LoadBuilds()
			if err != nil {
				return err
			}
			text := "ccm-push " + version + "\n"
			for _, b := range list {
				kind := ""
				if b.Full {
					kind = " (full)"
				}
				text += fmt.Sprintf("%s/%s%s %s, %d bytes, build %s\n", b.OS, b.Arch, kind, b.SHA256[:16], b.Size, b.ID)
			}
			return p.Print(text)
		},
	}
}
