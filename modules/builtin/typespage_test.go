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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

var update = flag.Bool("update", false, "write docs/types.md anew")

// column is what is asked of every type.
type column string

const (
	inSuite   column = "check"
	certain   column = "certain"
	undone    column = "undo"
	watched   column = "watch"
	onApt     column = "apt host"
	onRPM     column = "rpm host"
	adHoc     column = "ad hoc"
	documents column = "docs"
)

// explained are the fields of which the sources tell that there is something to explain. One that
// nothing asks for is an error, as is one that is missing.
var explained = map[string]map[column]string{
	"file": {certain: "but for a refusal by `validate`, and what comes behind one of several names (hard links)"},
	"exec": {
		certain: "that it has nothing to do; not what a command comes to",
		undone:  "stays, and is named: nobody knows what a command has changed",
		watched: "`creates` heard, what guards look at polled",
	},
	"group":   {certain: "but for another gid, and what comes behind it", watched: "heard; polled where accounts come from elsewhere"},
	"user":    {certain: "but for other ids, and what comes behind them", watched: "heard; polled where accounts come from elsewhere"},
	"service": {certain: "but for a start or a stop, and what comes behind it", watched: "heard where systemd runs them, else polled"},
	"package": {
		certain:   "that it has nothing to do; not what a package brings along",
		watched:   "heard; `latest`, pip and npm polled",
		documents: "[package](reference/type-package.md), 7; lean, but for pip and npm: full",
	},
	"upgrade": {
		certain: "that it has nothing to do; not what packages bring along",
		undone:  "stays, and is named: repositories seldom keep earlier versions", watched: "packages heard, what is offered polled",
	},
	"repository": {certain: "but for one that has to be read first: `refresh: false` leaves that out"},
	"archive":    {certain: "but for what it unpacks", undone: "by `ccm-push undo`, path by path; not by `reverse`"},
	"line":       {certain: "but for a refusal by `validate`"},
	"replace":    {certain: "but for a refusal by `validate`"},
	"ini":        {certain: "but for a refusal by `validate`"},
	"assert":     {undone: "it changes nothing"},
	"scaffold":   {certain: "but for what its `post` commands make", undone: "by `ccm-push undo`, path by path; not by `reverse`"},
	"apply": {
		inSuite: "as its resources, which stand in the catalog in its place", certain: "as its resources", undone: "as its resources",
		watched: "as its resources", adHoc: "no: `ccm-push --limit PATTERN MANIFEST` is that",
	},
	"sysctl":       {certain: "but for a value that is not as many numbers as the one that holds", watched: "the file heard, the value polled"},
	"mount":        {certain: "but for devices, other options, and one that is in use"},
	"kmod":         {certain: "but for whether the kernel takes it, and what it brings along", watched: "files heard, whether it is loaded polled"},
	"alternatives": {certain: "but for what comes behind one with further links, such as those of manual pages"},
	"firewall":     {watched: "the files heard, what is in force polled"},
	"selinux":      {watched: "the file heard, the mode that holds now polled"},
	"seboolean": {
		certain: "but for one that the policy may not have", watched: "what is kept heard, the value that holds now polled",
	},
	"fcontext": {
		certain: "but for a type, a user or a range that the policy may not have, and which labels files have behind something pending",
		watched: "what is kept heard, labels of files polled",
	},
	"seport": {certain: "but for a type or a range that the policy may not have"},
	"reboot": {
		certain: "that it starts again; not that it comes back, nor what comes behind it",
		undone:  "stays, and is named", watched: "heard on Debian and of zypper; of needs-restarting polled",
	},
	"swap": {certain: "but for whether the kernel swaps to it", watched: "the file and fstab heard, whether it is active polled"},
	"container": {
		certain: "that it has nothing to do, and the files of a quadlet; registries and runtimes decide about the rest",
		watched: "a quadlet heard; podman and docker polled: they tell of it when they are asked",
		onRPM:   "no: the hosts of the tests have no podman of rpm; it is started the same way",
	},
	"tls_cert": {watched: "files heard, how long it is valid polled"},
	"fetch":    {undone: "it changes nothing"},
	"hostname": {watched: "files heard, the name that it has now polled"},
	"wait":     {certain: "but for whether it comes about", watched: "polled: nothing tells of it"},
	"http": {
		certain: "a request that only looks, but for one behind something pending; whether others are answered is not",
		undone:  "stays, and is named: nobody knows what a server has changed", watched: "polled: no server tells of itself",
	},
	"git": {certain: "but for what has to be fetched or checked out", watched: "the commit heard, changed files and the source polled"},
	"dsc": {
		certain: "that it has nothing to do; not what a program comes to",
		undone:  "stays, and is named: only its program knows what it has changed", watched: "polled: only its program knows what it is about",
	},
	"ral": {
		certain: "that it has nothing to do; not what a program comes to",
		undone:  "stays, and is named: only its provider knows what it has changed", watched: "polled: only its provider knows what it is about",
	},
}

const typesPage = `# Resource types, and what each can do

<!-- Made of the registry, its sources and the tests by ` + "`make reference`" + `. -->

No type is second class: what one can do, all can, and where one cannot, its field says why.

- **check**: the conformance suite holds it: a check changes nothing, what it predicts happens, a second run finds nothing, every
  path that a run changes is declared, and a cancelled run leaves the old state or the new.
- **certain**: a check run is certain of it, and puts nothing in doubt that comes behind it, but for what is named.
  It fails in the check what the kernel refuses every user: read-only mounts, mount points, immutable and append-only files, files
  below /proc and /sys.
- **undo**: ` + "`ccm-push undo`" + ` and [` + "`reverse`" + `](manifest.md#reverse) put back what was there.
- **watch**: ` + "`ccm-push watch`" + ` hears at once that it is no longer so, but for what is named: that is checked every now and then.
- **apt host**, **rpm host**: on real hosts of the family, with its real tools: in scenarios, which are predicted, applied, and
  found as they shall be (` + "`e2e/testdata/scenarios`" + `), and in tests of its own.
- **ad hoc**: ` + "`ccm-push 'web*' TYPE NAME PROPERTY=VALUE`" + `.
- **docs**: its page, with so many examples that a test applies; the program on the host that has it: lean, or full where a
  play needs one.

`

// TestTypesPage holds docs/types.md against the registry: no field is empty, and none is excused
// that needs no excuse.
func TestTypesPage(t *testing.T) {
	tests := fleetTests(t)
	var page strings.Builder
	columns := []column{inSuite, certain, undone, watched, onApt, onRPM, adHoc, documents}
	page.WriteString(typesPage + "| type |")
	for _, c := range columns {
		fmt.Fprintf(&page, " %s |", c)
	}
	page.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, typ := range builtin.Types() {
		fields := fieldsOf(t, typ, tests)
		fmt.Fprintf(&page, "| `%s` |", typ.Name)
		for _, c := range columns {
			why, excused := explained[typ.Name][c]
			is := fields[c]
			require.False(t, is == "" && !excused, "%s: nothing is found under %q; make it so, or explain it here", typ.Name, c)
			require.False(t, is == "yes" && excused && why != "yes", "%s: %q needs no explanation: %s", typ.Name, c, why)
			fmt.Fprintf(&page, " %s |", cmp.Or(why, is))
		}
		page.WriteString("\n")
	}
	const at = "../../docs/types.md"
	if *update {
		require.NoError(t, os.WriteFile(at, []byte(page.String()), 0o644))
	}
	have, err := os.ReadFile(at)
	require.NoError(t, err)
	require.Equal(t, page.String(), string(have), "make reference")
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
	program := "lean"
	if r, ok := of.(modules.Requirer); ok && r.Requires().FullProgram {
		program = "full"
	}
	if len(examples) > 0 {
		fields[documents] = fmt.Sprintf("[%s](reference/type-%s.md), %d; %s", typ.Name, typ.Name, len(examples), program)
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
