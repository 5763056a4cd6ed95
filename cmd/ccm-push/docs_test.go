package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// TestDocs runs every example of the guide and of some other pages. One script has all files and commands of a section.
func TestDocs(t *testing.T) {
	t.Parallel()
	params := scriptParams(t)
	params.Dir = t.TempDir()
	for _, page := range []string{
		"guide/ad-hoc.md", "guide/between-hosts.md", "guide/check.md", "guide/control.md", "guide/data.md",
		"guide/differences-from-ccm.md", "guide/dsc-documents.md", "guide/facts.md", "guide/graph.md",
		"guide/health-checks.md", "guide/inventory-commands.md", "guide/manifests.md", "guide/nats.md",
		"guide/other-resources.md", "guide/plays.md",
		"guide/reverse.md", "guide/secrets.md", "guide/set.md", "guide/templates.md",
	} {
		writeDocScripts(t, params.Dir, page)
	}
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		return errors.Join(setup(env), asOnHost(env.WorkDir))
	}
	params.Cmds["prints"] = prints
	params.Cmds["inventory"] = inventoryOf
	testscript.Run(t, params)
}

func writeDocScripts(t *testing.T, dir, page string) {
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	require.NoError(t, err)
	sections := parseDocPage(string(text))
	data := docDataOf(sections)
	examples := 0
	for _, section := range sections {
		s := &docScript{t: t, page: page}
		script := s.write(section, data)
		if script == nil {
			continue
		}
		examples++
		name := strings.TrimSuffix(path.Base(page), ".md") + "-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(section.title), "-"), "-")
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".txtar"), script, 0o600))
	}
	require.NotZero(t, examples, "%s has no examples", page)
}

var (
	notInNames = regexp.MustCompile(`[^a-z0-9]+`)
	ownerOf    = regexp.MustCompile(`\b(owner|group): ` + docOwner + `\b`)
)

// docDataOf are the first data and facts that a page shows.
func docDataOf(sections []docSection) []docBlock {
	var data []docBlock
	found := map[string]bool{}
	for _, section := range sections {
		for _, b := range section.blocks {
			if docData[b.label] != "" && !found[b.label] {
				found[b.label] = true
				data = append(data, b)
			}
		}
	}
	return data
}

// asOnHost replaces the folder and the account of the examples with the host's folder and account, in all files of a
// script.
func asOnHost(work string) error {
	host := strings.NewReplacer(docFolder, filepath.Join(work, "web1"))
	ids := map[string]int{"owner": os.Getuid(), "group": os.Getgid()}
	return filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed := ownerOf.ReplaceAllStringFunc(host.Replace(string(text)), func(property string) string {
			key, _, _ := strings.Cut(property, ":")
			return fmt.Sprintf("%s: \"%d\"", key, ids[key])
		})
		return os.WriteFile(path, []byte(changed), 0o644)
	})
}

var mapPath = regexp.MustCompile("`([a-z0-9_/-]+/[a-z0-9_./-]+|[a-z0-9_]+\\.go)`")

// TestArchitecturePaths compares the pages about the architecture with the tree of the project: paths in backquotes, where
// a bare name is in the folder of the path before it.
func TestArchitecturePaths(t *testing.T) {
	const pages = "../../docs/internals/"
	exists := func(path string) {
		_, err := os.Stat(filepath.Join("../..", path))
		require.NoError(t, err)
	}
	paths := 0
	for _, page := range []string{"architecture.md", "architecture-details.md", "protocol.md"} {
		text, err := os.ReadFile(pages + page)
		require.NoError(t, err)
		folder := ""
		for _, m := range mapPath.FindAllStringSubmatch(string(text), -1) {
			path := m[1]
			if !strings.Contains(path, "/") {
				path = filepath.Join(folder, path)
			}
			exists(path)
			paths++
			if folder = path; strings.HasSuffix(path, ".go") {
				folder = filepath.Dir(path)
			}
		}
	}
	require.Greater(t, paths, 100)
}

// inventoryOf writes hosts.yaml with the hosts of an example where the servers of
// the script are: inventory FILE.
func inventoryOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: inventory FILE")
	}
	const host = "web1: {"
	text := ts.ReadFile(args[0])
	if strings.Count(text, host) != 1 {
		ts.Fatalf("an inventory of an example has one line with %q", host)
	}
	text = strings.Replace(text, host, host+"connect: "+hostsOf(ts).connection("web1")+", ", 1)
	ts.Check(os.WriteFile(ts.MkAbs("hosts.yaml"), []byte(text), 0o644))
}

// prints runs a command line that ends with a status and, if a file is given,
// prints what that holds: prints STATUS FILE COMMAND.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: prints STATUS FILE COMMAND")
	}
	ts.Logf("$ %s", args[2])
	exits(ts, false, []string{args[0], "sh", "-c", args[2]})
	if args[1] == "" {
		return
	}
	normal(ts, false, []string{args[1], "expected"})
	got := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	ts.Check(os.WriteFile(ts.MkAbs("printed"), []byte(got), 0o644))
	normal(ts, false, []string{"printed", "got"})
	if ts.ReadFile("got") != ts.ReadFile("expected") {
		ts.Fatalf("it prints\n%s", got)
	}
}
