package builtin_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

var update = flag.Bool("update", false, "write the pages about types")

// column is what is asked of every type.
type column string

const (
	inSuite  column = "check"
	certain  column = "certain"
	undone   column = "undo"
	watched  column = "watch"
	onApt    column = "apt host"
	onRPM    column = "rpm host"
	adHoc    column = "ad hoc"
	program  column = "program"
	exampled column = "examples"
)

// explained has the fields for which the sources do not say yes. A field without a reason is an
// error; so is a reason that is not needed.
var explained = map[string]map[column]string{
	"file": {certain: "except a refusal by `validate`, and resources after a file with several names (hard links)"},
	"exec": {
		certain: "only the prediction \"no change\"",
		undone:  "no, named, because the changes of a command are unknown",
		watched: "`creates` by events; guards by polling",
	},
	"group":   {certain: "except resources after a new gid", watched: "by events; polled if accounts come from elsewhere"},
	"user":    {certain: "except resources after new ids", watched: "by events; polled if accounts come from elsewhere"},
	"service": {certain: "except a start or a stop, and resources after it", watched: "by events with systemd; else by polling"},
	"package": {
		certain: "only the prediction \"no change\"",
		watched: "by events; `latest`; pip and npm by polling",
		program: "lean; pip and npm: full",
	},
	"upgrade": {
		certain: "only the prediction \"no change\"",
		undone:  "no, named, because repositories seldom keep earlier versions", watched: "packages by events; available versions by polling",
	},
	"repository": {certain: "except a repository whose package lists must be fetched (not with `refresh: false`)"},
	"archive":    {certain: "except the unpacked files", undone: "by `ccm-push undo`, path by path; not by `reverse`"},
	"line":       {certain: "except a refusal by `validate`"},
	"replace":    {certain: "except a refusal by `validate`"},
	"ini":        {certain: "except a refusal by `validate`"},
	"assert":     {undone: "nothing to undo"},
	"scaffold":   {certain: "except the output of `post` commands", undone: "by `ccm-push undo`, path by path; not by `reverse`"},
	"apply": {
		inSuite: "as its resources, which are in the catalog in its place", certain: "like the resources in it", undone: "like the resources in it",
		watched: "like the resources in it", adHoc: "no: `ccm-push --limit PATTERN MANIFEST` does that",
	},
	"sysctl":       {certain: "except if the new value has more or fewer numbers than the current value", watched: "the file by events; the value by polling"},
	"mount":        {certain: "except devices, other options, a busy mount, and the owner and mode of a mount point"},
	"locale":       {certain: "except if the locale archive is damaged"},
	"kmod":         {certain: "except that the kernel may refuse the module, and may load other modules with it", watched: "files by events; the module by polling"},
	"alternatives": {certain: "except resources after an alternative with more links, such as manual pages"},
	"firewall":     {watched: "files by events; rules in force by polling"},
	"selinux":      {watched: "the file by events; the current mode by polling"},
	"seboolean": {
		certain: "except a boolean that the SELinux policy may lack", watched: "the saved value by events; the current value by polling",
	},
	"fcontext": {
		certain: "except a type, user or range that the SELinux policy may lack, and labels of files while an earlier change is planned",
		watched: "what is kept by events; labels of files by polling",
	},
	"seport": {certain: "except a type or a range that the SELinux policy may lack"},
	"reboot": {
		certain: "the restart only; not that the host answers again, nor later resources",
		undone:  "no, named", watched: "by events on Debian and with zypper; needs-restarting by polling",
	},
	"swap": {certain: "except that the kernel may refuse to activate it", watched: "the file and fstab by events; activation by polling"},
	"container": {
		certain: "only the prediction \"no change\", and the files of a quadlet",
		watched: "a quadlet by events; podman and docker by polling",
		onRPM:   "no: the hosts of the tests have no podman of rpm; it is started the same way",
	},
	"tls_cert": {watched: "files by events; validity by polling"},
	"fetch":    {undone: "nothing to undo"},
	"hostname": {watched: "files by events; the current name by polling"},
	"wait":     {certain: "except if the condition may not become true in time", watched: "by polling"},
	"http": {
		certain: "requests that only read (GET, HEAD), unless an earlier resource would change something",
		undone:  "no, named: the changes of a server are unknown", watched: "by polling",
	},
	"git": {certain: "except what is fetched or checked out", watched: "the commit by events; changed files and the source by polling"},
	"dsc": {
		certain: "only the prediction \"no change\"",
		undone:  "no, named, because only the DSC program knows what it has changed", watched: "by polling",
	},
	"ral": {
		certain: "only the prediction \"no change\"",
		undone:  "no, named, because only the provider knows what it has changed", watched: "by polling",
	},
}

const typesPage = `# Resource types

<!-- Made of the registry, its sources and the tests by ` + "`make reference`" + `. -->

With this page you choose a resource type, and see what ccm-push knows about it before, during and after a run. The name of a type
leads to its properties and examples; ` + "`ccm-push doc TYPE`" + ` prints them.

Contents: [What the columns mean](#what-the-columns-mean) · [All types](#all-types)

## What the columns mean

- **certain**: a check run predicts it with certainty, and leaves later resources certain, except where the table says so.
  A check fails for changes that the kernel refuses to every user: read-only mounts, mount points, immutable and append-only
  files, and files below /proc and /sys. Where a file system may have too little room, the prediction is uncertain.
- **undo**: ` + "[`ccm-push undo`](undo.md)" + ` and [` + "`reverse`" + `](reverse.md) restore the state before. "No, named" means
  that ` + "`undo`" + ` lists the change instead.
- **watch**: [` + "`ccm-push watch`" + `](watch.md) notices drift at once, by events of the host, except where the table says polled.

A check run of any type changes nothing. A run repairs what differs, and a second run finds nothing to do. If a run is cancelled, the host
has the old state or the new one. All types except ` + "`apply`" + ` work [without a manifest](ad-hoc.md). For programs of other tools, see
[their page](other-resources.md).

If the host merges the files of a folder, such as ` + "`/etc/sysctl.d`, `/etc/cron.d`" + ` or the drop-ins of a systemd unit, types that write there warn
if the host does not read the file: its name is wrong, or another file overrides it. The warning names that file.

## All types

`

const coveragePage = `# Tests of resource types

<!-- Made of the registry, its sources and the tests by ` + "`make reference`" + `. -->

Each type has tests in each column, or the reason why not.

Contents: [Columns](#columns) · [Types](#types)

## Columns

- **check**: the conformance suite: a check changes nothing, its prediction happens, a second run finds nothing, every path that
  a run changes is declared, and a cancelled run leaves the old state or the new one.
- **apt host**, **rpm host**: on real hosts of the family, with its real tools: in scenarios (` + "`e2e/testdata/scenarios`" + `), which are
  predicted, applied and checked again, and in tests of its own.
- **program**: the host program that the type needs: lean, or full.
- **ad hoc**: ` + "`ccm-push 'web*' TYPE NAME PROPERTY=VALUE`" + ` works.
- **examples**: of its page; a test applies each.

## Types

`

// TestTypesPage compares the two pages about types with the registry: no field is empty, and none
// has a reason that it does not need.
func TestTypesPage(t *testing.T) {
	tests := fleetTests(t)
	pages := []struct {
		at, head string
		columns  []column
	}{
		{"guide/types.md", typesPage, []column{certain, undone, watched}},
		{"internals/types.md", coveragePage, []column{inSuite, onApt, onRPM, adHoc, program, exampled}},
	}
	for _, p := range pages {
		var page strings.Builder
		page.WriteString(p.head + "| type |")
		for _, c := range p.columns {
			fmt.Fprintf(&page, " %s |", c)
		}
		page.WriteString("\n|---|" + strings.Repeat("---|", len(p.columns)) + "\n")
		for _, typ := range builtin.Types() {
			fields := fieldsOf(t, typ, tests)
			fmt.Fprintf(&page, "| [`%s`](../reference/type-%s.md) |", typ.Name, typ.Name)
			for _, c := range p.columns {
				why, excused := explained[typ.Name][c]
				is := fields[c]
				require.False(t, is == "" && !excused, "%s: nothing is found under %q; make it so, or explain it here", typ.Name, c)
				require.False(t, is == "yes" && excused && why != "yes", "%s: %q needs no explanation: %s", typ.Name, c, why)
				fmt.Fprintf(&page, " %s |", cmp.Or(why, is))
			}
			page.WriteString("\n")
		}
		at := filepath.Join("../../docs", p.at)
		if *update {
			require.NoError(t, os.WriteFile(at, []byte(page.String()), 0o644))
		}
		have, err := os.ReadFile(at)
		require.NoError(t, err)
		require.Equal(t, page.String(), string(have), "make reference")
	}
}

var (
	unsure = regexp.MustCompile(`\bMayFail\b|modules\.Anything\b|modules\.BelowEffect\b|\bValidation\b`)
	polled = regexp.MustCompile(`\bPolled\b`)
)

// fieldsOf gives what the sources tell of a type: "yes", nothing, or what there is.
func fieldsOf(t *testing.T, typ modules.Type, tests []fleetTest) map[column]string {
	t.Helper()
	of := typ.New()
	folder := filepath.Join("..", filepath.Base(reflect.TypeOf(of).Elem().PkgPath()))
	source, its := read(t, folder, false), read(t, folder, true)
	yes := func(so bool) string {
		if so {
			return "yes"
		}
		return ""
	}
	_, reverses := of.(modules.Reverser)
	_, watches := of.(modules.Watcher)
	_, nests := of.(modules.Nester)
	fields := map[column]string{
		inSuite: yes(strings.Contains(its, "modtest.Converges(")),
		certain: yes(!unsure.MatchString(source) && !nests),
		undone:  yes(reverses),
		watched: yes(watches && !polled.MatchString(source)),
		onApt:   played(typ.Name, tests, aptHost),
		onRPM:   played(typ.Name, tests, rpmHost),
		adHoc:   yes(!nests),
	}
	if lasting, ok := of.(modules.Lasting); ok {
		fields[undone] = "by `reverse`; `ccm-push undo` names it: " + lasting.Lasts()
	}
	examples, err := typ.Examples()
	require.NoError(t, err)
	host := "lean"
	if r, ok := of.(modules.Requirer); ok && r.Requires().FullProgram {
		host = "full"
	}
	if len(examples) > 0 {
		fields[program], fields[exampled] = host, strconv.Itoa(len(examples))
	}
	return fields
}

// read gives all sources of a folder, of tests or of the program.
func read(t *testing.T, folder string, tests bool) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, names, folder)
	var all strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") == tests {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			all.Write(text)
		}
	}
	return all.String()
}

// A fleetTest is one against real hosts: a function, or a scenario, which has no name and is played
// on hosts of both families.
type fleetTest struct{ name, text string }

var (
	aptHost = regexp.MustCompile(`"s001"|"h001"|hosts: [sh]001|startFleet\(|startCronHost\(`)
	rpmHost = regexp.MustCompile(`"rs?001"|hosts: rs?001`)
)

// fleetTests lists the tests against real hosts.
func fleetTests(t *testing.T) []fleetTest {
	t.Helper()
	var all []fleetTest
	scenarios, err := filepath.Glob("../../e2e/testdata/scenarios/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, scenarios)
	for _, name := range scenarios {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, fleetTest{text: string(text)})
	}
	names, err := fs.Glob(os.DirFS("../../e2e"), "*_test.go")
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("../../e2e", name))
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		source := func(n ast.Node) string { return string(text[n.Pos()-file.FileStart : n.End()-file.FileStart]) }
		values := map[string]string{} // of the file, by their names
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						values[v.Names[0].Name] = source(v)
					}
				}
			}
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "TestFleet") {
				continue
			}
			test := fleetTest{f.Name.Name, source(f)}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					test.text += values[id.Name]
				}
				return true
			})
			all = append(all, test)
		}
	}
	return all
}

// played says in which tests a type has its place on hosts of a family.
func played(name string, tests []fleetTest, family *regexp.Regexp) string {
	uses := regexp.MustCompile(`- ` + regexp.QuoteMeta(name) + `:`)
	var among []string
	for _, test := range tests {
		switch {
		case !uses.MatchString(test.text):
		case test.name == "":
			among = append(among, "scenarios")
		case family.MatchString(test.text):
			among = append(among, "`"+test.name+"`")
		}
	}
	among = slices.Compact(among)
	return strings.Join(among[:min(len(among), 3)], ", ")
}
