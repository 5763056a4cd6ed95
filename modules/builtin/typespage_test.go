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

// column is a criterion for every type.
type column string

const (
	inSuite  column = "check"
	certain  column = "uncertain predictions" // a field "yes" of the sources means none
	undone   column = "undo"
	watched  column = "watch notices drift"
	onApt    column = "apt host"
	onRPM    column = "rpm host"
	adHoc    column = "ad hoc"
	program  column = "host program"
	exampled column = "examples"
)

// all and like are fields that need no sentence of their own.
const (
	all  = "every change"
	like = "like its resources"
)

// whole contains the words of the pages for "yes".
var whole = map[column]string{certain: "none", watched: "at once"}

// explained contains the fields for which the sources are not "yes". A field without a reason is an error; so is an
// unnecessary reason.
var explained = map[string]map[column]string{
	"file": {certain: "The command in the property `validate` may read other files. If an earlier resource would change one of them, the prediction of the content is uncertain. If the managed file has hard links, predictions for later resources may be wrong."},
	"exec": {
		certain: all,
		undone:  "no",
		watched: "files in `creates` at once; otherwise by polling",
	},
	"group":   {certain: "If the gid changes, predictions for later resources may be wrong.", watched: "at once; in a directory service by polling"},
	"user":    {certain: "If the uid or the primary group changes, predictions for later resources may be wrong.", watched: "at once; in a directory service by polling"},
	"service": {certain: "If the service would start or stop, this prediction and predictions for later resources have the grade likely.", watched: "at once with systemd; otherwise by polling"},
	"package": {
		certain: all,
		watched: "at once; `latest`, pip and npm by polling",
		program: "lean; pip and npm: full",
	},
	"upgrade": {
		certain: all,
		undone:  "no", watched: "packages at once; available versions by polling",
	},
	"repository": {certain: "Changes that fetch package lists are uncertain. With `refresh: false`, ccm-push does not fetch package lists."},
	"archive":    {certain: "The unpacked files are uncertain.", undone: "only with `ccm-push undo`"},
	"line":       {certain: "The command in the property `validate` may read other files. If an earlier resource would change one of them, the prediction is uncertain."},
	"replace":    {certain: "The command in the property `validate` may read other files. If an earlier resource would change one of them, the prediction is uncertain."},
	"ini":        {certain: "The command in the property `validate` may read other files. If an earlier resource would change one of them, the prediction is uncertain."},
	"assert":     {undone: "nothing to undo"},
	"set":        {undone: "nothing to undo", adHoc: "no: pass values with `-e`"},
	"scaffold":   {certain: "The output of `post` commands is uncertain.", undone: "only with `ccm-push undo`"},
	"apply": {
		inSuite: "as its resources, which are in the catalog in its place", certain: like, undone: like,
		watched: like, adHoc: "no: `ccm-push --limit PATTERN MANIFEST` does that",
	},
	"sysctl":   {certain: "If the new value has more or fewer numbers than the old value, the change is uncertain.", watched: "files at once; active values by polling"},
	"mount":    {certain: "Mounts of devices, unmounts and changes of options are uncertain. After a mount, owner and mode of the mount point are uncertain."},
	"locale":   {certain: "If the locale archive is damaged, changes are uncertain."},
	"kmod":     {certain: "Loading and removing a module is uncertain. Other modules that the kernel then loads are uncertain too.", watched: "files at once; the module by polling"},
	"firewall": {watched: "files at once; active rules by polling"},
	"selinux":  {watched: "the file at once; the mode by polling"},
	"seboolean": {
		certain: "If the SELinux policy may lack the boolean, the change is uncertain.", watched: "saved values at once; current values by polling",
	},
	"fcontext": {
		certain: "If the SELinux policy may lack the type, user or range, the change is uncertain. If any earlier resource would change something, labels of files are uncertain.",
		watched: "settings at once; labels of files by polling",
	},
	"seport": {certain: "If the SELinux policy may lack the type or range, the change is uncertain."},
	"reboot": {
		certain: "If the host restarts, predictions for later resources may be wrong.",
		undone:  "no", watched: "at once on Debian and with zypper; otherwise by polling",
	},
	"swap": {certain: "Turning the swap on or off is uncertain.", watched: "files at once; activation by polling"},
	"container": {
		certain: "Changes of podman and docker containers are uncertain. Starts of quadlets (containers that systemd starts) are uncertain.",
		watched: "a quadlet at once; podman and docker by polling",
		onRPM:   "no test: the test hosts with rpm have no podman",
	},
	"tls_cert": {watched: "files at once; validity by polling"},
	"fetch":    {undone: "nothing to undo"},
	"hostname": {watched: "files at once; the current name by polling"},
	"wait":     {certain: "If an earlier resource would change something, the prediction is likely. Otherwise the prediction is certain if the condition is true now, and unknown if the condition is false.", watched: "by polling"},
	"http": {
		certain: "Requests that change data are uncertain. If an earlier resource would change something, all requests are uncertain.",
		undone:  "no", watched: "by polling",
	},
	"git": {certain: "The files that git fetches or checks out are uncertain.", watched: "the commit at once; otherwise by polling"},
	"dsc": {
		certain: all,
		undone:  "no", watched: "by polling",
	},
	"ral": {
		certain: all,
		undone:  "no", watched: "by polling",
	},
}

const typesPage = `# Resource types

<!-- Made of the registry, its sources and the tests by ` + "`make reference`" + `. -->

With this page you choose a resource type, and see how ccm-push predicts, undoes and watches its changes. The name of a type links
to its properties and examples.

Contents: [What the columns mean](#what-the-columns-mean) · [All types](#all-types) · [Uncertain predictions](#uncertain-predictions)

## What the columns mean

- **uncertain predictions**: These predictions of a check run have the grade [likely or unknown](check.md#how-sure-a-prediction-is). For "some", see [the list](#uncertain-predictions).
- **undo**: "yes" means that [` + "`ccm-push undo`](undo.md) and [`reverse`" + `](reverse.md) restore the earlier state. "No" means that
  ` + "`undo`" + ` reverts nothing, and only prints the resource's name.
- **watch notices drift**: when [` + "`ccm-push watch`" + `](watch.md) notices that a resource has changed. "By polling" means that
  ccm-push checks the resource every ten minutes.

You can apply one resource of any type, except ` + "`apply`" + `, [without a manifest](ad-hoc.md). ccm-push can also use
[resource programs of other tools](other-resources.md).

If even root cannot make a change, for example on a read-only mount, the check run fails. If a program would ignore a new file, ccm-push
prints a warning: for example, cron ignores ` + "`/etc/cron.d/a~`" + `.

## All types

`

const coveragePage = `# Tests of resource types

<!-- Made of the registry, its sources and the tests by ` + "`make reference`" + `. -->

This page lists a test of each resource type on real hosts. For each type, other tests run
[the conformance suite](adding-a-type.md#further-methods), an ad-hoc call (such as ` + "`ccm-push web1 file /srv/hello`" + `) and the examples.
The type ` + "`apply`" + ` has no suite. The types ` + "`apply` and `set`" + ` have no ad-hoc call.

- The column **apt host** names the test on a host with apt, and **rpm host** the test on a host with rpm. "scenarios" means a common
  test for all types. This test applies the manifests in ` + "`e2e/testdata/scenarios`" + `.
- The column **host program** names the build that the type needs. The lean build omits parts that few hosts need; the full build has all.

`

// TestTypesPage compares the two pages about types with the registry: no field is empty, and none
// has a reason that it does not need.
func TestTypesPage(t *testing.T) {
	tests := fleetTests(t)
	pages := []struct {
		at, head string
		columns  []column
		required []column // not written
	}{
		{"guide/types.md", typesPage, []column{certain, undone, watched}, nil},
		{"internals/types.md", coveragePage, []column{onApt, onRPM, program}, []column{inSuite, adHoc, exampled}},
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
			for _, c := range slices.Concat(p.columns, p.required) {
				why, excused := explained[typ.Name][c]
				is := fields[c]
				require.False(t, is == "" && !excused, "%s: nothing is found under %q; make it so, or explain it here", typ.Name, c)
				require.False(t, is == "yes" && excused && why != "yes", "%s: %q needs no explanation: %s", typ.Name, c, why)
				if c == certain && inSection(why) {
					why = "some"
				}
				if slices.Contains(p.columns, c) {
					fmt.Fprintf(&page, " %s |", cmp.Or(why, strings.Replace(is, "yes", cmp.Or(whole[c], "yes"), 1)))
				}
			}
			page.WriteString("\n")
		}
		if slices.Contains(p.columns, certain) {
			page.WriteString(uncertainSection())
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

// inSection reports whether a reason is a sentence of the section about uncertain predictions.
func inSection(why string) bool { return why != "" && why != all && why != like }

// uncertainSection returns the section with the uncertain predictions of each type.
func uncertainSection() string {
	var b strings.Builder
	b.WriteString("\n## Uncertain predictions\n\n" +
		"Later resources are all resources after this resource in the play.\n\n")
	var reasons []string
	types := map[string][]string{} // by reason
	for _, typ := range builtin.Types() {
		why := explained[typ.Name][certain]
		if !inSection(why) {
			continue
		}
		if types[why] == nil {
			reasons = append(reasons, why)
		}
		types[why] = append(types[why], "`"+typ.Name+"`")
	}
	for _, why := range reasons {
		fmt.Fprintf(&b, "- %s: %s\n", strings.Join(types[why], ", "), why)
	}
	return b.String()
}

var (
	unsure = regexp.MustCompile(`\bMayFail\b|\bLikelySucceeds\b|\bAffects\b|modules\.(Anything|Elsewhere)\b|modules\.BelowEffect\b|\bValidation\b`)
	polled = regexp.MustCompile(`\bPolled\b`)
)

// fieldsOf returns the facts about a type from the sources: "yes", nothing, or a list.
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
	_, sets := of.(modules.Setter)
	fields := map[column]string{
		inSuite: yes(strings.Contains(its, "modtest.Converges(")),
		certain: yes(!unsure.MatchString(source) && !nests),
		undone:  yes(reverses),
		watched: yes(watches && !polled.MatchString(source)),
		onApt:   played(typ.Name, tests, aptHost),
		onRPM:   played(typ.Name, tests, rpmHost),
		adHoc:   yes(!nests && !sets),
	}
	if _, ok := of.(modules.Lasting); ok {
		fields[undone] = "only with `reverse`"
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

// read returns all sources of a folder, of tests or of the program.
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
		values := map[string]string{} // values in the file, by their names
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

// played names a test that uses a type on hosts of a family; "scenarios" if it has no test of its own.
func played(name string, tests []fleetTest, family *regexp.Regexp) string {
	uses := regexp.MustCompile(`- ` + regexp.QuoteMeta(name) + `:`)
	found := ""
	for _, test := range tests {
		switch {
		case !uses.MatchString(test.text):
		case test.name == "":
			found = "scenarios"
		case family.MatchString(test.text):
			return "`" + test.name + "`"
		}
	}
	return found
}
