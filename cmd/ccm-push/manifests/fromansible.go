package manifests

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/listing"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/fromansible"
)

func fromAnsibleCommand(types modules.Registry, f *inventories.Reader, p *output.Printer) *cobra.Command {
	var out, report string
	var inShadow, force bool
	c := &cobra.Command{
		Use:   "from-ansible PLAYBOOK|ROLE|FOLDER | from-ansible --shadow PLAYBOOK [MANIFEST]",
		Short: "convert playbooks and roles of Ansible to manifests",
		Long: `ccm-push from-ansible reads Ansible playbooks and roles, and writes manifests, data and templates
with the same effect. If a part has no equivalent in a manifest, the command writes a "todo" in its
place, with the original text as a comment. ccm-push validate reports each todo.

After the conversion, ccm-push prints all todos with file and line. It also lists tasks whose effect
is now slightly different. docs/guide/from-ansible.md lists all modules and keywords.

With -i, the command also reads an inventory. From the inventory, it learns whether a variable is a
text, a number or a list. It also learns which variables of a play or of vars of a role override the
inventory. The conversion needs no Ansible and contacts no host. It overwrites files in the output
folder only with --force.

--shadow compares the two programs on your hosts: it runs ansible-playbook --check with the
playbook, and ccm-push --check with MANIFEST or a temporary conversion. It prints files, packages,
services, accounts and settings for which the results differ. If there are any, the exit status is
8. Flags that both programs know, such as -i, -l, -e, -u, -b and -K, apply to both.`,
		Example: `  ccm-push from-ansible site.yml --out manifests --report report.md
  ccm-push from-ansible roles/nginx
  ccm-push from-ansible --shadow -i inventory/ site.yml manifests/site.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if inShadow {
				return cobra.RangeArgs(1, 2)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.TextOnly("from-ansible"); err != nil {
				return err
			}
			options := fromansible.Options{Types: types}
			if inShadow && len(args) == 2 {
				return shadowed(cmd, f, p, args, options)
			}
			var err error
			if options.Variables, options.Misread, err = inventoryVariables(cmd.Context(), f); err != nil {
				return err
			}
			if inShadow {
				return shadowed(cmd, f, p, args, options)
			}
			f.App.EndAtOnce.Store(true) // nothing is written yet
			done, err := fromansible.Convert(cmd.Context(), args[0], options)
			f.App.EndAtOnce.Store(false)
			if err != nil {
				return err
			}
			if report != "" {
				if _, err := os.Lstat(report); err == nil {
					return fmt.Errorf("%s exists already: pass another file with --report", report)
				}
			}
			if err := writeConversion(out, done.Files, force); err != nil {
				return err
			}
			if report != "" {
				if err := writeReport(report, fromansible.File{Content: []byte(done.Report.Markdown(filepath.Base(args[0]) + ", carried over")), Mode: 0o644 & done.From.Mode()}); err != nil {
					return err
				}
			}
			return p.Print(done.Report.Summary())
		},
	}
	c.Flags().StringVar(&out, "out", "manifests", "output folder")
	c.Flags().BoolVar(&force, "force", false, "replace files in the output folder")
	c.Flags().BoolVar(&inShadow, "shadow", false, "compare check runs of ansible-playbook and ccm-push on the hosts")
	c.Flags().StringVar(&report, "report", "", "write a Markdown report to this file: the result of each task")
	return c
}

// inventoryVariables returns the variables of all hosts of an inventory named with -i, each with one of its values, and the
// values that Ansible reads in another way.
func inventoryVariables(ctx context.Context, f *inventories.Reader) (map[string]any, []fromansible.Misread, error) {
	if !f.Flags.Changed("inventory") {
		return nil, nil, nil
	}
	inv, err := f.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	var misread []fromansible.Misread
	for _, finding := range listing.Lint(inv) {
		if finding.Ansible != finding.Here {
			misread = append(misread, fromansible.Misread{File: finding.File, Line: finding.Line, Message: finding.Message})
		}
	}
	known := map[string]any{}
	for _, host := range inv.Hosts() {
		maps.Copy(known, host.Vars())
	}
	return known, misread, nil
}

// writeConversion writes files into a folder. If force is false, it writes none if one of them exists.
func writeConversion(folder string, files map[string]fromansible.File, force bool) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	var there []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := root.Lstat(name); err == nil {
			there = append(there, name)
		}
	}
	var errs error
	if force {
		for _, name := range there {
			errs = errors.Join(errs, root.Remove(name))
		}
	} else if len(there) > 0 {
		for i, name := range there {
			there[i] = filepath.Join(folder, name)
		}
		return fmt.Errorf("%s exists already: pass another folder with --out, or --force to replace what is there", strings.Join(there, ", "))
	}
	for name, f := range files {
		errs = errors.Join(errs, writeNew(root, name, f))
	}
	return errs
}

// writeReport writes the report where no file is.
func writeReport(path string, f fromansible.File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return writeNew(root, filepath.Base(path), f)
}

// writeNew writes a file that is not there below an opened folder, with no more permissions than it has.
func writeNew(root *os.Root, name string, f fromansible.File) error {
	dir := fs.FileMode(0o755)
	if f.Mode&0o044 == 0 {
		dir = 0o700
	}
	if err := root.MkdirAll(filepath.Dir(name), dir); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Content)
	return errors.Join(err, file.Close())
}
