package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version, and the host programs that it can send",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.flags.textOnly("version"); err != nil {
				return err
			}
			list, err := a.loadBuilds()
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
			return a.print(text)
		},
	}
}
