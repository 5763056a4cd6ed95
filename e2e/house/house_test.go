package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write limits.txt")

var house = sync.OnceValues(func() (*House, error) { return load("../..") })

func read(t *testing.T) *House {
	t.Helper()
	h, err := house()
	require.NoError(t, err)
	require.Greater(t, len(h.Packages), 100)
	return h
}

// within compares the found offenders with the list. With -update it writes the list first.
func within(t *testing.T, found Offenders, rules ...string) {
	t.Helper()
	if *update {
		require.NoError(t, writeLimits(found, rules...))
	}
	limits, err := readLimits()
	require.NoError(t, err)
	require.Empty(t, Compare(found, limits, rules...))
}

// Largest sizes: methods of a type, fields of a struct, files of a package, lines of a function.
const (
	maxMethods = 25
	maxFields  = 25
	maxFiles   = 35
	maxLines   = 80
)

// formats are structs that mirror a file format or a message, with as many fields as that has.
var formats = []string{
	"playbooks/events.Result", "playbooks/events.resultFields", "playbooks/events.checkFields", "playbooks/manifest.Play", "playbooks/manifest.Resource", "playbooks/manifest/keys.Resource", "modules/wire.Entry", "modules/wire.Message", "modules/wire.Result",
	"modules/wire.Catalog", "playbooks/workers.Order", "playbooks/manifest/keys.Play", "playbooks/manifest/keys.Common",
	"inventory/yamlpos/schema.node", "modules/dsc/schema.node",
}

// interpreters are types of a language: each construct of it, or each filter, is one function.
var interpreters = []string{"templates/jinja.parser", "templates/jinja.exec", "templates/jinja.call"}

func TestRooms(t *testing.T) {
	h := read(t)
	found := Offenders{}
	for folder, p := range h.Packages {
		for name, n := range p.methods() {
			if n > maxMethods && !slices.Contains(interpreters, folder+"."+name) {
				found["methods "+folder+"."+name] = n
			}
		}
		for name, n := range p.fields() {
			if n > maxFields && !slices.Contains(formats, folder+"."+name) {
				found["fields "+folder+"."+name] = n
			}
		}
		if len(p.Files) > maxFiles {
			found["files "+folder] = len(p.Files)
		}
		for f := range p.Functions {
			if n := h.lines(f); n > maxLines && !isTable(f) {
				found["lines "+folder+"."+funcName(f)] = n
			}
		}
	}
	within(t, found, "methods", "fields", "files", "lines")
}

var namedFile = regexp.MustCompile(`\b[a-z0-9_]+\.go\b`)

// listedFile matches a line of a list: a file name after a tab, and a description of the file.
var listedFile = regexp.MustCompile(`(?m)^\s+([a-z0-9_]+\.go)\s`)

// TestSignposts requires that a doc.go names no file that is missing, and that its list of files has all of them.
func TestSignposts(t *testing.T) {
	found := Offenders{}
	for folder, p := range read(t).Packages {
		doc := p.Files["doc.go"]
		if doc == nil || doc.Doc == nil {
			continue
		}
		text := doc.Doc.Text()
		for _, name := range namedFile.FindAllString(text, -1) {
			require.FileExists(t, "../../"+folder+"/"+name, "%s/doc.go names it", folder)
		}
		var listed []string
		for _, m := range listedFile.FindAllStringSubmatch(text, -1) {
			listed = append(listed, m[1])
		}
		if len(listed) < 2 {
			continue
		}
		for name := range p.Files {
			if name != "doc.go" && !slices.Contains(listed, name) {
				found["signpost "+folder]++
			}
		}
	}
	within(t, found, "signpost")
}

// features maps each feature, which belongs in one package, to its keys of a play.
var features = map[string][]string{
	"rollout": {"rollout", "serial", "max_fail_percentage"},
	"watch":   {"watch"},
	"confirm": {"confirm", "confirm_within", "confirm_via", "confirm_boot"},
}

// TestOnePlace counts the packages that contain the literal of a key of a feature, if there are more than one. The command line
// is one place: its flags have the names of keys.
func TestOnePlace(t *testing.T) {
	places := map[string]map[string]bool{}
	for folder, p := range read(t).Packages {
		if strings.HasPrefix(folder, "playbooks/fromansible") || strings.HasPrefix(folder, "playbooks/manifest/ansible") {
			continue
		}
		if strings.HasPrefix(folder, "cmd/ccm-push/") {
			folder = "cmd/ccm-push"
		}
		for _, file := range p.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Field: // tags
					if n.Tag != nil {
						return false
					}
				case *ast.ImportSpec:
					return false
				case *ast.BasicLit:
					if n.Kind != token.STRING {
						return true
					}
					text, err := strconv.Unquote(n.Value)
					require.NoError(t, err)
					for _, keys := range features {
						if slices.Contains(keys, text) {
							if places[text] == nil {
								places[text] = map[string]bool{}
							}
							places[text][folder] = true
						}
					}
				}
				return true
			})
		}
	}
	found := Offenders{}
	for key, folders := range places {
		if len(folders) > 1 {
			found["places "+key] = len(folders)
		}
	}
	within(t, found, "places")
}

// systemCalls are functions of the standard library that types of resources do not call: they use their modules.Host.
var systemCalls = []string{"os.Geteuid", "os.Open", "exec.Command", "exec.CommandContext"}

// TestTypes counts the calls of types of resources that go past their modules.Host, and fields that exist for tests.
func TestTypes(t *testing.T) {
	types := map[string]bool{}
	for _, pkg := range list(t, "-f", `{{join .Imports "\n"}}`, module+"modules/builtin") {
		if folder, ok := strings.CutPrefix(pkg, module); ok && strings.HasPrefix(folder, "modules/") {
			types[folder] = true
		}
	}
	require.Greater(t, len(types), 30)
	found := Offenders{}
	forTests := regexp.MustCompile(`(?i)\b(for|of|in) (a |the )?tests?\b|\btests (set|replace|use)\b`)
	for folder, p := range read(t).Packages {
		for _, file := range p.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && types[folder] {
						if x, ok := s.X.(*ast.Ident); ok && slices.Contains(systemCalls, x.Name+"."+s.Sel.Name) {
							found["calls "+folder]++
						}
					}
				case *ast.StructType:
					for _, f := range n.Fields.List {
						if strings.HasPrefix(folder, "modules/") && forTests.MatchString(f.Doc.Text()+" "+f.Comment.Text()) && !isTestPackage(folder) {
							found["test-fields "+folder]++
						}
					}
				}
				return true
			})
		}
	}
	within(t, found, "calls", "test-fields")
}

// isTestPackage reports whether a package is for tests only, by its name.
func isTestPackage(folder string) bool {
	return strings.HasSuffix(folder, "test")
}

// TestRulesFindOffenders plants an offender of each rule.
func TestRulesFindOffenders(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("package p\ntype T struct {E; A int}\ntype E struct {\n")
	for i := range 25 {
		fmt.Fprintf(&text, "F%d int\n", i)
	}
	text.WriteString("}\nfunc help(*T) {}\n")
	for i := range 25 {
		fmt.Fprintf(&text, "func (t *T) M%d() {}\n", i)
	}
	text.WriteString("func table() []int {\nreturn []int{\n" + strings.Repeat("1,\n", 90) + "}\n}\nfunc long() {\n" + strings.Repeat("help(nil)\n", 90) + "}\n")
	require.NoError(t, os.Mkdir(dir+"/p", 0o755))
	require.NoError(t, os.WriteFile(dir+"/p/p.go", []byte(text.String()), 0o644))
	h, err := load(dir)
	require.NoError(t, err)
	p := h.Packages["p"]
	require.Equal(t, map[string]int{"T": 26}, p.methods())
	require.Equal(t, map[string]int{"T": 26, "E": 25}, p.fields())
	lines := map[string]int{}
	for f := range p.Functions {
		if n := h.lines(f); n > maxLines && !isTable(f) {
			lines[funcName(f)] = n
		}
	}
	require.Equal(t, map[string]int{"long": 90}, lines)
	require.Equal(t, []string{
		"methods p.T: 26: make it smaller", "methods p.U: 27, which was 26: make it smaller",
		"methods p.V: the list allows 30, and it is 0: go test ./e2e/house -update",
	}, Compare(Offenders{"methods p.T": 26, "methods p.U": 27}, Offenders{"methods p.U": 26, "methods p.V": 30, "lines p.f": 90}, "methods"))
}
