package manifests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/layout"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func fmtCommand(f *flags.Mode, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "fmt [FILE...]",
		Short: "format YAML files: manifests, inventories, data",
		Long: `ccm-push fmt formats YAML files and prints the names of the changed files. It indents by two spaces;
a list is also indented below its key. It removes spaces at the ends of lines, and replaces several
empty lines with one. Keys, quotes, comments, line breaks and templates do not change. If formatting
would change the meaning of a file, ccm-push reports the file and does not change it. A file with
anchors keeps its indentation.

Without FILE, the command formats all *.yaml and *.yml files of this folder. If FILE is "-", it
formats standard input and prints the result. With --check, no file changes; exit status 8 means
that a file needs formatting. --diff prints the changes.`,
		Example: `  ccm-push fmt
  ccm-push fmt --check --diff site.yaml group_vars/all.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := p.TextOnly("fmt"); err != nil {
				return err
			}
			if len(args) == 1 && args[0] == "-" {
				return formatStream(p)
			}
			return formatFiles(f, p, args)
		},
	}
}

func formatStream(p *output.Printer) error {
	text, err := io.ReadAll(p.App.In)
	if err != nil {
		return err
	}
	after, err := layout.Format(text)
	if err != nil {
		return layoutError("standard input", err)
	}
	return p.Print(string(after))
}

func formatFiles(f *flags.Mode, p *output.Printer, paths []string) error {
	if len(paths) == 0 {
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			found, _ := filepath.Glob(pattern) // the patterns are right
			paths = append(paths, found...)
		}
	}
	if len(paths) == 0 {
		return errors.New("no *.yaml or *.yml file here: name the files to format")
	}
	var wrong error
	changed := false
	for _, path := range paths {
		differs, err := formatFile(f, p, path)
		wrong = errors.Join(wrong, err)
		changed = changed || differs
	}
	if wrong == nil && changed && f.Check {
		return exit.Status(exit.Changed)
	}
	return wrong
}

// formatFile formats one file and reports whether that changes it.
func formatFile(f *flags.Mode, p *output.Printer, path string) (changed bool, err error) {
	before, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	after, err := layout.Format(before)
	switch {
	case errors.Is(err, layout.ErrLeft):
		p.App.Warn(events.Line(path) + ": " + err.Error())
		return false, nil
	case err != nil:
		return false, layoutError(path, err)
	case string(after) == string(before):
		return false, nil
	}
	text := events.Line(path) + "\n"
	if f.Diff == "true" {
		text += events.Block(udiff.Unified(path, path, string(before), string(after)))
	}
	if !f.Check {
		err = replaceFile(path, after)
	}
	return true, errors.Join(err, p.Print(text))
}

// replaceFile replaces a file, completely or not at all. It keeps a link to the file.
func replaceFile(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".ccm-push-fmt-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(info.Mode().Perm()), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: line (\d+): `) })

// layoutError returns the error with the position of invalid YAML in a file.
func layoutError(path string, err error) error {
	text := err.Error()
	if m := yamlLine().FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s:%s: %s", path, m[1], strings.TrimPrefix(text, m[0]))
	}
	return fmt.Errorf("%s: %s", path, strings.TrimPrefix(text, "yaml: "))
}
