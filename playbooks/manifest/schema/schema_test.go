package schema

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema/schematest"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/templates"
)

var update = flag.Bool("update", false, "write the expected errors in testdata/bad anew")

// blind lists the invalid manifests that the schema cannot distinguish from valid ones.
var blind = map[string][]string{
	"references": {
		"apply-reference-within", "block-require-within", "common-require-itself", "common-require-later", "common-require-unknown-name", "common-subscribe-later",
	},
	"cycles": {"apply-itself", "common-require-in-a-circle", "play-include-itself"},
	"expressions": {
		"apply-name-of-a-host", "ccm-message-syntax", "common-control-empty", "common-control-syntax", "common-control-unknown-name",
		"common-expression-of-a-shell", "common-expression-syntax", "common-expression-unknown-function",
		"common-expression-unknown-name", "file-source-of-a-host", "play-data-expression-syntax",
	},
	"files": {
		"apply-list", "apply-missing", "apply-play-keys", "play-include-bad", "play-include-folder", "play-include-missing", "play-vars-files-list", "play-vars-files-missing",
	},
	"durations":  {"play-confirm-within", "exec-timeout-too-long", "exec-timeout-without-unit"},
	"duplicates": {"defaults-twice", "resource-two-spellings"},
	"quoting":    {"exec-quotes", "exec-quotes-in-a-guard", "file-validate-quotes"},
	"how a value is written": {
		"exec-returns-fraction-of-nothing", "exec-returns-huge", "file-force-quoted", "file-mode-digits-without-quotes",
	},
	"what goes together, or is required without defaults": {
		"apply-url-without-checksum", "block-export-in-rescue", "ccm-empty-resources", "file-checksum-of-a-file", "file-content-and-source",
		"file-download-by-host", "file-download-http", "file-download-password", "file-download-without-checksum", "file-empty-owner",
		"file-file-mode-alone", "file-force-without-absent", "file-recurse-absent", "file-recurse-nothing", "file-recurse-of-a-file", "file-root-absent",
		"play-confirm-without-history", "service-event-with-ensure", "file-validate-of-a-directory", "file-without-anything", "file-without-mode",
	},
	"what of a rollout goes together": {
		"rollout-by-alone", "rollout-drain-here", "rollout-gate-of-untouched", "rollout-gate-that-cannot-fail", "rollout-rest-first", "rollout-soak-too-long",
		"rollout-stop-without-gate",
	},
	"addresses":                    {"play-confirm-via"},
	"what a type checks by itself": {"exec-blank-command", "exec-environment-null", "exec-readonly-creates", "exec-returns-outside", "register-address"},
	"YAML itself": {
		"play-empty-list", "yaml-alias-bomb", "yaml-anchor-within-itself", "yaml-binary", "yaml-deep", "yaml-duplicate-key",
		"yaml-empty", "yaml-empty-document", "yaml-expression-without-quotes", "yaml-key-is-a-list", "yaml-merge-of-text",
		"yaml-syntax", "yaml-tab", "yaml-unknown-anchor", "yaml-unknown-tag",
	},
}

// list is a manifest with a list of resources.
func list(lines ...string) string {
	return "ccm:\n  resources:\n    " + strings.Join(lines, "\n    ") + "\n"
}

func TestCorpus(t *testing.T) {
	schematest.Corpus{
		Dir:     "testdata",
		Checker: schematest.Compile(t, Of(builtin.Types())),
		Decode: func(path string) error {
			_, err := load.Files(t.Context(), []string{path}, builtin.Types())
			return err
		},
		Blind:  blind,
		Update: *update,
	}.Run(t)
}

// TestCorpusShowsEveryKey finds keys and types that no good manifest has.
func TestCorpusShowsEveryKey(t *testing.T) {
	paths, err := filepath.Glob("testdata/good/*.yaml")
	require.NoError(t, err)
	shown := map[string]bool{}
	var collect func(n *yamlpos.Node)
	collect = func(n *yamlpos.Node) {
		for _, item := range n.Items {
			collect(item)
		}
		for _, pair := range n.Pairs {
			shown[pair.Key.Text] = true
			collect(pair.Value)
		}
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		documents, err := yamlpos.Parse(path, data)
		require.NoError(t, err)
		for _, d := range documents {
			collect(d)
		}
	}
	for _, word := range vocabulary() {
		require.True(t, shown[word], word)
	}
}

// vocabulary is all keys that a manifest may have.
func vocabulary() []string {
	words := []string{"defaults", "order", "merge"}
	add := func(t reflect.Type) {
		for _, p := range open.Properties(t) {
			words = append(words, p.Name)
		}
	}
	add(reflect.TypeFor[keys.Play]())
	for _, t := range []reflect.Type{
		reflect.TypeFor[keys.Watch](), reflect.TypeFor[keys.Repair](), reflect.TypeFor[keys.Rollout](), reflect.TypeFor[keys.Gate](), reflect.TypeFor[keys.Drain](), reflect.TypeFor[keys.Stop](),
	} {
		add(t)
	}
	add(reflect.TypeFor[keys.CCM]())
	add(reflect.TypeFor[keys.Resource]())
	add(reflect.TypeFor[keys.Block]())
	add(reflect.TypeFor[keys.Control]())
	add(reflect.TypeFor[keys.Registration]())
	add(reflect.TypeFor[health.Check]())
	for _, name := range []string{"file", "exec"} { // another type need not be in the corpus
		t, _ := builtin.Types().Lookup(name)
		words = append(words, t.Name)
		add(reflect.TypeOf(t.New()).Elem())
	}
	return words
}

// TestSchemaAcceptsMutations changes good manifests at random: what the decoder
// still takes, the schema must take.
func TestSchemaAcceptsMutations(t *testing.T) {
	checker := schematest.Compile(t, Of(builtin.Types()))
	words := append(vocabulary(), "x", "package", "strategy", "health_checks", "/b", "{{ Data.x }}")
	rng := rand.New(rand.NewPCG(2, 7))
	t.Chdir("testdata/good") // files are read relative to a manifest
	paths, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	accepted := 0
	rounds := 8000
	if testing.Short() {
		rounds /= 10
	}
	for range rounds {
		data, err := os.ReadFile(paths[rng.IntN(len(paths))])
		require.NoError(t, err)
		mutated := schematest.Mutate(t, rng, data, words)
		if _, err := load.Parse(t.Context(), "mutated.yaml", mutated, builtin.Types()); err == nil {
			accepted++
			require.NoError(t, checker.Check(mutated), "%s", mutated)
		}
	}
	require.Greater(t, accepted, rounds/20)
}

func TestSchemaAcceptsWhatIsFound(t *testing.T) {
	checker := schematest.Compile(t, Of(builtin.Types()))
	accepted := 0
	for _, path := range schematest.Found(t, "../../..") {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		isDocument := func(p *manifest.Play) bool { return p.Configuration != nil } // which has a schema of its own
		if plays, err := load.Parse(t.Context(), path, data, builtin.Types()); err == nil && !slices.ContainsFunc(plays, isDocument) {
			accepted++
			require.NoError(t, checker.Check(data), "%s", data)
		}
	}
	require.GreaterOrEqual(t, accepted, 12)
}

// TestPatternsOfExpressions compares the patterns with the parser of expressions, on texts of all relevant characters.
func TestPatternsOfExpressions(t *testing.T) {
	surely, maybe := regexp.MustCompile(surelyAnExpression), regexp.MustCompile(anExpression)
	rng := rand.New(rand.NewPCG(1, 1))
	parts := []string{"{{", "}}", "${", "{", "}", "$", `"`, "'", "`", `\`, " ", "x", "\n"}
	found := 0
	for range 200_000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		text := b.String()
		if templates.HasExpr(text) {
			found++
			require.True(t, maybe.MatchString(text), "%q", text)
		} else {
			require.False(t, surely.MatchString(text), "%q", text)
		}
	}
	require.Greater(t, found, 1000)
}

// TestSchemaHelpsEditors looks at what completion and hovering show.
func TestSchemaHelpsEditors(t *testing.T) {
	s := Of(builtin.Types())
	for _, name := range []string{"play", "ccm", "control", "fileProperties", "execProperties"} {
		def := s.Defs.Get(name)
		require.NotNil(t, def, name)
		for _, p := range def.Properties {
			require.NotEmpty(t, p.Schema.Description, "%s.%s", name, p.Name)
		}
	}
	ensure := s.Defs.Get("fileProperties").Properties.Get("ensure")
	require.Equal(t, "present", ensure.Default)
	require.Equal(t, []any{"present", "absent", "directory"}, ensure.AnyOf[0].Enum)
	require.Equal(t, "another spelling of content", s.Defs.Get("fileProperties").Properties.Get("contents").Description)
	require.Equal(t, builtin.Types().Names(), propertyNamesOf(s.Defs.Get("resource")))
}

func propertyNamesOf(s *schema.Schema) []string {
	var names []string
	for _, p := range s.Properties {
		names = append(names, p.Name)
	}
	return names
}

// TestEveryFreeFieldHasAShape finds fields of type any without a description.
func TestEveryFreeFieldHasAShape(t *testing.T) {
	s := Of(builtin.Types())
	for name, def := range map[string]reflect.Type{
		"play": reflect.TypeFor[keys.Play](), "block": reflect.TypeFor[keys.Block](), "ccm": reflect.TypeFor[keys.CCM](), "execProperties": reflect.TypeFor[keys.Resource](),
	} {
		for _, f := range reflect.VisibleFields(def) {
			if f.Type.Kind() != reflect.Interface {
				continue
			}
			got := s.Defs.Get(name).Properties.Get(f.Tag.Get("json"))
			require.True(t, len(got.Type) > 0 || got.Ref != "", f.Name)
		}
	}
}

// thing is a type that this program does not have.
type thing struct {
	Name string         `json:"name" required:"true" doc:"its name"`
	URL  string         `json:"url" required:"true" pattern:"^https://" doc:"where it comes from"`
	Data map[string]any `json:"data" doc:"anything"`
}

func (*thing) Validate() error { return nil }

func (*thing) Check(context.Context, modules.Host) (modules.Plan, error) { return modules.Plan{}, nil }

func (*thing) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

// TestANewTypeIsDescribed shows that a type needs nothing but its place in the
// registry.
func TestANewTypeIsDescribed(t *testing.T) {
	registry := append(builtin.Types(), modules.Type{Name: "thing", Doc: "A thing.", New: func() modules.Resource { return new(thing) }})
	checker := schematest.Compile(t, Of(registry))
	for text, good := range map[string]bool{
		list("- thing: {name: a, url: https://x, data: {a: [1]}}"):                            true,
		list("- thing: [a: {url: '{{ Data.x }}', data: '${ 1 }'}]"):                           true,
		list("- thing: [{a: {url: https://x}}, {b: {url: https://x, require: ['thing#a']}}]"): true,
		list("- thing: {name: a}"):                            false,
		list("- thing: [a: {url: ftp://x}]"):                  false,
		list("- thing: [a: {url: https://x, date: {}}]"):      false,
		list("- thing: [a: {url: https://x, subscribe: []}]"): false,
	} {
		_, err := load.Parse(t.Context(), "site.yaml", []byte(text), registry)
		require.Equal(t, good, err == nil, "%s%v", text, err)
		require.Equal(t, good, checker.Check([]byte(text)) == nil, text)
	}
}

func TestSchemaIsTheSameEachTime(t *testing.T) {
	first, err := Of(builtin.Types()).Encode()
	require.NoError(t, err)
	for range 20 {
		again, err := Of(builtin.Types()).Encode()
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
	}
}
