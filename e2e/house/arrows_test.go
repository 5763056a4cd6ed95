package house

import (
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module      = "github.com/ccm-push/ccm-push/"
	hostProgram = module + "cmd/ccm-module"
)

// list runs go list and returns the words of its output.
func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return strings.Fields(string(out))
}

// dependencies lists, by package of the project, the packages that it links, itself included. It runs
// once, since each run of the go command takes a second.
var dependencies = sync.OnceValues(func() (map[string][]string, error) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`, module+"...").Output()
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		all[words[0]] = append(words[1:], words[0])
	}
	return all, err
})

// deps lists what a package links, itself included.
func deps(t *testing.T, pkg string) []string {
	t.Helper()
	all, err := dependencies()
	require.NoError(t, err)
	require.NotEmpty(t, all[pkg], pkg)
	return all[pkg]
}

// below picks the packages of a folder, by their full paths.
func below(pkgs []string, folder string) []string {
	return slices.DeleteFunc(slices.Clone(pkgs), func(pkg string) bool {
		return pkg != folder && (!strings.HasPrefix(pkg, folder+"/") || slices.Contains(leaves, pkg))
	})
}

// leaves are packages that any other may import, of both programs.
var leaves = []string{module + "modules/excerpt", module + "modules/weight"}

// TestLeaves holds that they import nothing of this project.
func TestLeaves(t *testing.T) {
	for _, leaf := range leaves {
		require.Equal(t, []string{leaf}, slices.DeleteFunc(deps(t, leaf), func(pkg string) bool { return !strings.HasPrefix(pkg, module) }))
	}
}

// TestHostProgramIsSmall keeps out of the lean one, as it is built, what only a controller or the full
// one needs.
func TestHostProgramIsSmall(t *testing.T) {
	linked := list(t, "-deps", "-tags", "host", hostProgram)
	require.Empty(t, below(linked, module+"modules/listen"), "the full program listens")
	for _, heavy := range []string{
		"golang.org/x/crypto/ssh", "github.com/pkg/sftp", "gopkg.in/yaml.v3", "go.yaml.in/yaml/v3",
		"github.com/CloudyKit/jet/v6", "github.com/spf13/cobra", "net/http", "github.com/expr-lang/expr",
		module + "inventory", module + "templates", module + "transport", module + "playbooks",
	} {
		require.Empty(t, below(linked, heavy))
	}
}

// TestFullHostProgram may have an HTTP client, and nothing of a controller either.
func TestFullHostProgram(t *testing.T) {
	full := list(t, "-deps", "-tags", "full", hostProgram)
	require.NotEmpty(t, below(full, "net/http"))
	for _, heavy := range []string{
		"golang.org/x/crypto/ssh", "github.com/pkg/sftp", "gopkg.in/yaml.v3", "go.yaml.in/yaml/v3",
		"github.com/CloudyKit/jet/v6", "github.com/spf13/cobra",
		module + "inventory", module + "templates", module + "transport", module + "playbooks",
	} {
		require.Empty(t, below(full, heavy))
	}
}

// TestProgramsStartFast keeps out of all programs what works before main: jsonschema
// compiles eleven schemas then, which takes longer than all else together.
func TestProgramsStartFast(t *testing.T) {
	programs := [][]string{{module + "cmd/ccm-push"}, {hostProgram}, {"-tags", "host", hostProgram}, {"-tags", "host,full", hostProgram}}
	for _, program := range programs {
		linked := list(t, append([]string{"-deps"}, program...)...)
		require.NotEmpty(t, linked)
		require.Empty(t, below(linked, "github.com/santhosh-tekuri/jsonschema/v6"), program)
	}
}

// TestControllerStaysOffTheHost keeps out of the controller what looks at or
// changes the machine it runs on.
func TestControllerStaysOffTheHost(t *testing.T) {
	linked := deps(t, module+"cmd/ccm-push")
	require.Empty(t, below(linked, module+"facts/gather"))
	require.Empty(t, below(linked, module+"modules/system"))
	require.Empty(t, below(linked, module+"modules/engine"))
	require.Empty(t, below(linked, "github.com/shirou/gopsutil"))
}

// TestControllerLinksNoServer keeps the NATS server, the largest dependency, out of programs that only
// connect to one.
func TestControllerLinksNoServer(t *testing.T) {
	require.Empty(t, below(deps(t, module+"cmd/ccm-push"), "github.com/nats-io/nats-server/v2"))
	broker := deps(t, module+"cmd/ccm-push-broker")
	for _, room := range []string{"inventory", "templates", "transport", "facts", "modules"} {
		require.Empty(t, below(broker, module+room), "the server knows nothing of hosts")
	}
	require.ElementsMatch(t, []string{module + "playbooks/natsconn", module + "playbooks/registry", module + "playbooks/workers/queue"},
		below(broker, module+"playbooks"), "it knows what clients call things there, to bound what they may do")
}

// TestArrows keeps the packages that playbooks and cmd wire together apart.
func TestArrows(t *testing.T) {
	siblings := []string{"inventory", "templates", "transport", "facts", "modules"}
	const leaf = module + "inventory/yamlpos" // any package of the controller may import it
	for _, from := range siblings {
		linked := deps(t, module+from)
		for _, to := range append(siblings, "playbooks", "cmd") {
			found := slices.DeleteFunc(below(linked, module+to), func(pkg string) bool { return pkg == leaf })
			if from == to {
				continue
			}
			require.Empty(t, found, "%s imports %s", from, to)
		}
	}
	require.Equal(t, []string{leaf}, below(deps(t, leaf), strings.TrimSuffix(module, "/")), "a leaf")
	inventoryArrows(t)
	templatesArrows(t)
	for leaf, may := range map[string][]string{
		"transport":            {"transport", "transport/knownhosts"},
		"transport/auth":       {"transport", "transport/auth", "transport/knownhosts"},
		"transport/dial":       {"transport", "transport/auth", "transport/dial", "transport/knownhosts"},
		"transport/knownhosts": {"transport/knownhosts"},
		"modules":              {"modules"},
		"modules/wire":         {"modules", "modules/wire"},
		"modules/listen":       {"modules", "modules/listen", "modules/mountinfo"},
		"modules/dsc/expr":     {"modules/dsc/expr"},
		"modules/dsc/manifest": {"modules/dsc/manifest"},
		"modules/dsc/schema":   {"modules/dsc/schema"},
		"transport/sshconfig":  {"transport/sshconfig"},
		"transport/start":      {"transport", "transport/knownhosts", "transport/start"},
	} {
		for i := range may {
			may[i] = module + may[i]
		}
		require.ElementsMatch(t, may, below(deps(t, module+leaf), strings.TrimSuffix(module, "/")), leaf)
	}
	for _, from := range []string{"playbooks", "playbooks/manifest", "playbooks/catalog", "playbooks/events"} {
		require.Empty(t, below(deps(t, module+from), module+"cmd"))
	}
}

// inventoryArrows keeps the packages below inventory in layers: packages that read and
// write texts, then one package for each part of an inventory, then the inventory, then
// the package that lists it.
func inventoryArrows(t *testing.T) {
	const root = module + "inventory"
	texts := []string{"ansible", "printable", "yamlpos", "yamlpos/schema"}
	parts := []string{"connection", "pattern", "source"}
	for name, may := range map[string][]string{
		"printable":  nil,
		"pattern":    {"yamlpos"},
		"ansible":    {"pattern", "printable", "yamlpos"},
		"source":     {"yamlpos"},
		"connection": {"pattern", "yamlpos", "yamlpos/schema"},
		"listing":    slices.Concat([]string{""}, parts, texts),
	} {
		want := []string{root + "/" + name}
		for _, other := range may {
			want = append(want, strings.TrimSuffix(root+"/"+other, "/"))
		}
		linked := below(deps(t, root+"/"+name), strings.TrimSuffix(module, "/"))
		require.ElementsMatch(t, want, linked, name)
	}
	require.NotContains(t, deps(t, root), root+"/listing")
}

// templatesArrows keeps the packages below templates in the order of its doc.go, and
// the three languages independent of each other.
func templatesArrows(t *testing.T) {
	const root, leaf = module + "templates/", module + "inventory/yamlpos"
	ground := []string{"diag", "render"}
	for name, may := range map[string][]string{
		"diag":        nil,
		"render":      ground[:1],
		"expression":  ground,
		"jettemplate": ground,
		"gotemplate":  ground,
	} {
		want := []string{leaf, root + name}
		for _, other := range may {
			want = append(want, root+other)
		}
		require.ElementsMatch(t, want, below(deps(t, root+name), strings.TrimSuffix(module, "/")), name)
	}
}

// TestEngineArrows keeps the packages below the engine apart: each knows the contracts and
// messages only; only engine/before knows the paths and accounts that notes
// of earlier state contain.
// The session, what watches catalogs, and what tests need, are above it.
func TestEngineArrows(t *testing.T) {
	const root = module + "modules/engine"
	parts := slices.DeleteFunc(list(t, root+"/..."), func(pkg string) bool {
		return pkg == root || pkg == root+"/session" || pkg == root+"/watch" || pkg == root+"/enginetest"
	})
	require.Contains(t, deps(t, root+"/session"), root)
	require.NotContains(t, deps(t, root+"/session"), root+"/watch", "the lean program has a session")
	require.NotEmpty(t, parts)
	for _, from := range parts {
		linked := slices.DeleteFunc(below(deps(t, from), strings.TrimSuffix(module, "/")), func(pkg string) bool { return pkg == module+"modules/wire" })
		want := []string{module + "modules", from}
		switch from {
		case root + "/notes":
			want = append(want, root+"/before", module+"modules/accounts")
		case root + "/before":
			want = append(want, module+"modules/accounts")
		}
		require.ElementsMatch(t, want, linked, from)
	}
}

// madeOf maps types that build on another type to that type: rules of sudo are a file that visudo has
// read, a time zone is a link and its name, keys and certificates are files whose content is made on the
// host, and packages bring services.
var madeOf = map[string]string{
	"modules/sudoers": "modules/file", "modules/timezone": "modules/link", "modules/tlskey": "modules/file", "modules/tlscert": "modules/file",
	"modules/pkg": "modules/service",
}

// TestResourceTypesStandAlone has each type of the registry know the contracts
// only.
func TestResourceTypesStandAlone(t *testing.T) {
	types := slices.DeleteFunc(below(list(t, "-f", `{{join .Imports "\n"}}`, module+"modules/builtin"), module+"modules"),
		func(pkg string) bool { return pkg == module+"modules" })
	require.NotEmpty(t, types)
	for _, from := range types {
		linked := deps(t, from)
		for _, to := range append(types, module+"modules/wire", module+"modules/engine", module+"modules/system", module+"modules/builtin", module+"facts") {
			if from != to && madeOf[strings.TrimPrefix(from, module)] != strings.TrimPrefix(to, module) {
				require.Empty(t, below(linked, to), "%s imports %s", from, to)
			}
		}
	}
}

// TestCommandArrows keeps the packages of the command line in layers. A package imports only packages of the layers before its
// own, so commands do not import each other.
func TestCommandArrows(t *testing.T) {
	const root = module + "cmd/ccm-push"
	layers := [][]string{
		{"app", "exit", "manual", "starter"}, {"flags"}, {"arguments", "links", "output"}, {"access"}, {"inventories"}, {"fleet"},
		{"hosts", "manifests", "remote", "runs", "secret"}, {""},
	}
	placed := 0
	for i, layer := range layers {
		above := slices.Concat(layers[i:]...)
		placed += len(layer)
		for _, from := range layer {
			linked := deps(t, strings.TrimSuffix(root+"/"+from, "/"))
			for _, to := range above {
				if from != to {
					require.NotContains(t, linked, strings.TrimSuffix(root+"/"+to, "/"), "%s imports it", from)
				}
			}
		}
	}
	require.Len(t, list(t, root+"/..."), placed, "each package has a layer")
}

// TestManifestArrows keeps the packages of playbooks/manifest in layers: keys, values and
// plays, then the package that reads resources of plays, then the package that reads files.
// The package schema reads no files.
func TestManifestArrows(t *testing.T) {
	const root = module + "playbooks/manifest"
	plays := []string{"", "ansible", "keys", "reference"}
	for name, may := range map[string][]string{
		"ansible":   nil,
		"keys":      nil,
		"source":    nil,
		"reference": {"ansible"},
		"schema":    {"ansible", "keys", "reference"},
		"resource":  plays,
		"load":      append(plays, "resource", "source"),
	} {
		want := []string{root + "/" + name}
		for _, other := range may {
			want = append(want, strings.TrimSuffix(root+"/"+other, "/"))
		}
		require.ElementsMatch(t, want, below(deps(t, root+"/"+name), root), name)
	}
	for _, above := range []string{"load", "resource", "schema", "source"} {
		require.NotContains(t, deps(t, root), root+"/"+above)
	}
}

// TestPlaybooksArrows keeps the packages of playbooks in layers: what hosts share and
// the way to them know nothing of a run, the conversation with a host nothing of the
// way to it, and none of them anything of the fleet.
func TestPlaybooksArrows(t *testing.T) {
	const root = module + "playbooks"
	for name, never := range map[string][]string{
		"share":   {"transport", "playbooks/events", "playbooks/reach", "playbooks/session"},
		"reach":   {"facts", "modules", "playbooks/manifest", "playbooks/catalog", "playbooks/session", "playbooks/share", "templates"},
		"session": {"transport", "playbooks/events", "playbooks/reach"},
		"trust":   {"facts", "modules", "playbooks/manifest", "playbooks/catalog", "playbooks/session", "playbooks/share", "templates"},
		// keys and encryption know nothing of hosts, and the files of a run nothing of the way to workers
		"workers/keyring": {"inventory", "facts", "templates", "transport", "playbooks/catalog", "playbooks/workers/queue"},
		"workers/sealing": {"inventory", "facts", "templates", "transport", "playbooks/catalog"},
		"workers/parcel":  {"transport", "playbooks/session", "playbooks/workers/keyring", "playbooks/workers/queue", "playbooks/workers/sealing"},
		"extravars":       {"facts", "modules", "transport", "playbooks/manifest/keys", "playbooks/catalog", "playbooks/session"},
	} {
		linked := deps(t, root+"/"+name)
		require.NotContains(t, linked, root, "%s imports playbooks", name)
		for _, to := range never {
			require.Empty(t, below(linked, module+to), "playbooks/%s imports %s", name, to)
		}
	}
}
