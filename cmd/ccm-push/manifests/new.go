package manifests

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/starter"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/trust"
)

func newCommand(types modules.Registry, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "new project DIR|play FILE|authority DIR|type NAME",
		Short: "write the first files of a project, manifest, authority or resource type",
		Long: `ccm-push new project writes the first files of a project into a folder: an inventory, a manifest,
data and others. Add your hosts to hosts.yaml, then apply the manifest. ccm-push new play writes a
manifest with one play. These commands do not change existing files.

ccm-push new authority writes the files of a certificate authority. Relays and workers log in to
hosts with certificates of this authority. The files are a private key, the program ca.sh that signs
certificates, and the manifest authority.yaml. Apply authority.yaml, so that hosts accept the
certificates. Then pass the program to runs with --ca-command.

ccm-push new type is for developers of ccm-push. In a checkout of the sources it writes a new
resource type that compiles and passes its tests; see docs/internals/adding-a-type.md.`,
		Example: `  ccm-push new project fleet
  ccm-push new play web.yaml
  ccm-push new authority ca
  ccm-push new type sysctl`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return arguments.Completions("", word, starters), cobra.ShellCompDirectiveNoFileComp
			case len(args) > 1 || args[0] == "type":
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := p.TextOnly("new"); err != nil {
				return err
			}
			if len(args) != 2 {
				return errors.New("two arguments are needed: new project DIR, new play FILE, new authority DIR or new type NAME")
			}
			return writeStarter(types, p, args[0], args[1])
		},
	}
}

// starters are the words after new.
var starters = []string{"project", "play", "authority", "type"}

func writeStarter(types modules.Registry, p *output.Printer, what, name string) error {
	var paths []string
	var err error
	next := ""
	switch what {
	case "project":
		paths, err = starter.Project(name)
		next = fmt.Sprintf("add your hosts to %s, and read %s", filepath.Join(name, "hosts.yaml"), filepath.Join(name, "README.md"))
	case "play":
		paths, err = starter.Play(name)
		next = "ccm-push validate " + name
	case "authority":
		paths, err = starter.Authority(name)
		next = fmt.Sprintf("%s; then add --ca-command %s to runs with relays or workers",
			arguments.Pasted([]string{filepath.Join(name, "authority.yaml")}), trust.ShellWord("sh "+trust.ShellWord(filepath.Join(name, "ca.sh"))))
	case "type":
		if _, ok := types.Lookup(name); ok {
			return fmt.Errorf("there is a resource type %q already; see ccm-push doc %s", name, name)
		}
		paths, err = starter.Type(".", name)
		next = fmt.Sprintf("in modules/builtin/builtin.go import github.com/ccm-push/ccm-push/modules/%s and list %s.Type(); then go test ./modules/%s", name, name, name)
	default:
		return fmt.Errorf("new does not write %q; %s", what, arguments.Suggestion(what, "", starters))
	}
	if err != nil {
		return err
	}
	return p.Print("wrote " + strings.Join(paths, "\nwrote ") + "\nnext: " + next + "\n")
}
