package container

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// testType is the type in a tree of the test, whose podman stores containers as files. The tests of e2e use real ones.
func testType() modules.Type {
	typ := Type()
	typ.New = func() modules.Resource { return new(Container) }
	return modtest.Rooted(typ)
}

// podmanScript acts as podman as far as the type needs it: a container is a file with its inspection, and another file
// if it runs.
const podmanScript = `#!/bin/sh
d=${0%/*}/../state
case "$1 $2" in
"image inspect")
	case $4 in *RepoDigests*) echo "${5%:*}@sha256:$(sha256sum <"$d/image-$(echo "$5" | tr /: __)" | cut -c1-64)"; exit ;; esac
	cat "$d/image-$(echo "$5" | tr /: __)" 2>/dev/null || exit 125; exit ;;
"container inspect") running=false; [ -e "$d/$3.run" ] && running=true; sed "s/RUNNING/$running/" "$d/$3.made"; exit ;;
esac
verb=$1; shift
for last; do :; done
case $verb in
ps) name=${3#name=^}; name=$(echo "${name%\$}" | tr -d '\\'); [ ! -e "$d/$name.made" ] || echo "$name" ;;
pull)
	case $last in *refused*) echo 'Error: denied' >&2; exit 125 ;; esac
	from=$d/registry-$(echo "$last" | tr /: __); [ -e "$from" ] || echo "id-of-$last" >"$from"; cat "$from" >"$d/image-${from##*/registry-}" ;;
rm) rm -f "$d/$last.made" "$d/$last.run" ;;
rename) mv "$d/$1.made" "$d/$last.made" ;;
start) >"$d/$last.run" ;;
stop) rm "$d/$last.run" ;;
create)
	echo "$@" >>"$d/arguments"
	env='"PATH=/bin"'
	while :; do
		case $1 in
		--name=*) name=${1#--name=} ;;
		--label=io.ccm-push.made=*) label=$(printf %s "${1#--label=io.ccm-push.made=}" | sed 's/[\\"]/\\&/g') ;;
		--env-file=/dev/stdin) while read -r line; do env="$env,\"$line\""; done ;;
		--bad) echo 'Error: unknown flag: --bad' >&2; exit 125 ;;
		--*) ;;
		*) break ;;
		esac
		shift
	done
	id=$(cat "$d/image-$(echo "$1" | tr /: __)")
	echo "[{\"Image\":\"$id\",\"State\":{\"Running\":RUNNING},\"Config\":{\"Env\":[$env],\"Labels\":{\"io.ccm-push.made\":\"$label\"}}}]" >"$d/$name.made" ;;
esac
`

func tree(more ...modtest.Node) []modtest.Node {
	return append([]modtest.Node{
		{Path: "bin", Dir: true}, {Path: "state", Dir: true}, {Path: "bin/podman", Mode: 0o755, Text: podmanScript},
		{Path: "state/image-app_1", Text: "id-of-app:1\n"},
	}, more...)
}

// there is an existing container.
func there(label string, runs bool) []modtest.Node {
	text := `[{"Image":"sha256:id-of-app:1","State":{"Running":RUNNING},"Config":{"Env":["PATH=/bin","A=1"],"Labels":{` + label + `}}}]`
	nodes := []modtest.Node{{Path: "state/c.made", Text: text}}
	if runs {
		nodes = append(nodes, modtest.Node{Path: "state/c.run"})
	}
	return tree(nodes...)
}

// moved points the name of the image to another image.
func moved(nodes []modtest.Node) []modtest.Node {
	for i := range nodes {
		if nodes[i].Path == "state/image-app_1" {
			nodes[i].Text = "another\n"
		}
	}
	return nodes
}

// skopeo prints the registry's state.
var skopeo = modtest.Node{Path: "bin/skopeo", Mode: 0o755, Text: `#!/bin/sh
cat "${0%/bin/skopeo}/state/registry-$(echo "${3#docker://}" | tr /: __)" 2>/dev/null || { echo no answer >&2; exit 1; }
`}

func digestOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

const ofApp = `"io.ccm-push.made":"{\"image\":\"app:1\",\"env\":[\"A\"],\"ports\":[\"80:80\"]}"`

func with(more string) string { return `{"root":"$ROOT","name":"c",` + more + `}` }

const same = `"image":"app:1","env":{"A":"1"},"ports":["80:80"]`

func TestConverges(t *testing.T) {
	modtest.Converges(t, testType(), modtest.Kept("state/*", "", []modtest.Fixture{
		{Name: "new", Tree: tree(), Properties: with(same), Action: "made the container", Changes: []modules.Change{modtest.Change("ensure", absent, running)}},
		{Name: "new, stopped, of an image to pull", Tree: tree(), Properties: with(`"image":"r.example.net/new@sha256:00","ensure":"stopped"`), Action: "made the container", Changes: []modules.Change{modtest.Change("ensure", absent, stopped)}},
		{Name: "as it shall be", Tree: there(ofApp, true), Properties: with(same)},
		{Name: "present, whether it runs or not", Tree: there(ofApp, false), Properties: with(same + `,"ensure":"present"`)},
		{Name: "stopped by somebody", Tree: there(ofApp, false), Properties: with(same), Action: "started the container", Changes: []modules.Change{modtest.Change("ensure", stopped, running)}},
		{Name: "runs and shall not", Tree: there(ofApp, true), Properties: with(same + `,"ensure":"stopped"`), Action: "stopped the container", Changes: []modules.Change{modtest.Change("ensure", running, stopped)}},
		{
			Name: "made of something else", Tree: there(ofApp, true), Properties: with(`"image":"app:1","env":{"A":"2"},"ports":["81:80","90:90"],"command":["run","a b"],"memory":"1g"`), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("command", "none", `run "a b"`), modtest.Change("ports", "80:80", "81:80 90:90"), modtest.Change("memory", "none", "1g"), modtest.Change("env.A", "another value", "the value of the manifest")},
		},
		{
			Name: "another image of that name", Tree: moved(there(ofApp, true)), Properties: with(same), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("image", "id-of-app:1", "another")},
		},
		{
			Name: "made by something else, and replaced", Tree: there("", true), Properties: with(same + `,"force":true`), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("container", "made by something else", "made of these properties")},
		},
		{Name: "made by something else", Tree: there("", true), Properties: with(same), Err: "the container c was not created by a container resource; remove the container, or set 'force: true' to replace the container"},
		{
			Name: "the registry has another image", Tree: tree(skopeo, modtest.Node{Path: "state/registry-app_1", Text: "newer\n"}), Properties: with(`"image":"app:1","pull":"always"`), Action: "made the container",
			Changes: []modules.Change{modtest.Change("ensure", absent, running), modtest.Change("image", digestOf("id-of-app:1\n"), digestOf("newer\n"))},
		},
		{
			Name: "it runs, and the registry has another image", Tree: append(there(ofApp, true), skopeo, modtest.Node{Path: "state/registry-app_1", Text: "newer\n"}), Properties: with(same + `,"pull":"always"`), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("image", digestOf("id-of-app:1\n"), digestOf("newer\n"))},
		},
		{Name: "the registry has the same image", Tree: append(there(ofApp, true), skopeo, modtest.Node{Path: "state/registry-app_1", Text: "id-of-app:1\n"}), Properties: with(same + `,"pull":"always"`)},
		{Name: "the registry does not answer", Tree: append(there(ofApp, true), skopeo), Properties: with(same + `,"pull":"always"`), Err: "skopeo inspect: exit code 1: no answer"},
		{Name: "nothing asks the registry", Tree: there(ofApp, true), Properties: with(same + `,"pull":"always"`), Err: "'pull: always' needs skopeo, which is not found in " + modules.DefaultPath + "; install skopeo first, or name the image by its digest"},
		{Name: "no image", Tree: tree(), Properties: with(`"image":"none","pull":"never"`), Err: "the host does not have the image none ('pull: never')"},
		{Name: "no program", Properties: with(same + `,"provider":"docker"`), Err: "docker is not found in " + modules.DefaultPath + "; install it first"},
		{Name: "absent, without a program", Properties: with(`"ensure":"absent"`)},
		{Name: "absent", Tree: there(ofApp, true), Properties: with(`"ensure":"absent"`), Action: "removed the container", Changes: []modules.Change{modtest.Change("ensure", running, absent)}},
		{Name: "absent already", Tree: tree(), Properties: with(`"ensure":"absent"`)},
	})...)
}

// TestFails checks that the old container, and no other one, is left if the program refuses an option.
func TestFails(t *testing.T) {
	for name, test := range map[string]struct {
		want Container
		err  string
	}{
		"an option": {Container{Image: "app:1", Options: []string{"--bad"}}, "unknown flag: --bad"},
		"an image":  {Container{Image: "refused"}, "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, there(ofApp, true))
			c := test.want
			c.Name, c.Ensure = "c", running
			before := modtest.State(t, root)
			plan, err := c.Check(t.Context(), modules.ReadOnly(modtest.RootedHost(root, modtest.Host())))
			require.NoError(t, err)
			require.ErrorContains(t, c.Apply(t.Context(), modtest.RootedHost(root, modtest.Host()), plan), test.err)
			after := modtest.State(t, root)
			delete(after, "state/arguments")
			require.Equal(t, before, after)
		})
	}
}

func TestUndone(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, tree(modtest.Node{Path: "state/arguments"}))
	first := &Container{Name: "c", Ensure: running, Image: "app:1", Env: map[string]string{"A": "s3cret value"}, Labels: map[string]string{"a": "b"}}
	plan, err := first.Check(t.Context(), modules.ReadOnly(modtest.RootedHost(root, modtest.Host())))
	require.NoError(t, err)
	require.NoError(t, first.Apply(t.Context(), modtest.RootedHost(root, modtest.Host()), plan))
	text, err := os.ReadFile(root + "/state/arguments")
	require.NoError(t, err)
	require.False(t, strings.Contains(string(text), "s3cret"), "%s", text)
	require.Contains(t, string(text), "--label=a=b app:1\n")
	require.NoError(t, os.Remove(root+"/state/arguments"))
	require.NoError(t, os.Symlink("/dev/null", root+"/state/arguments")) // the same for each call

	other := *first
	other.Env, other.Ensure = map[string]string{"B": "2"}, stopped
	modtest.Undone(t, root, modtest.In(root, &other))
	modtest.Undone(t, root, modtest.In(root, &Container{Name: "c", Ensure: absent}))
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "container", Properties: with(properties)}
	}
	modtest.Predicts(t, modules.Registry{testType()}, modtest.Scenario{
		Tree: tree(),
		Steps: []modtest.Step{
			step(same + `,"ensure":"present"`), step(same + `,"ensure":"present"`), step(same), step(`"image":"app:1"`), step(`"image":"app:1"`), step(`"ensure":"absent"`), step(`"ensure":"absent"`),
		},
		Want: []string{"changed unknown", "stable unknown", "changed unknown", "changed unknown", "stable unknown", "changed unknown", "stable unknown"},
	})
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Container]{
		{Of: Container{Name: "c", Image: "a:1", Options: []string{"--read-only"}}},
		{Of: Container{Name: "c", Ensure: absent}},
		{Of: Container{Name: "c"}, Err: `image: "image" cannot be empty (write an image with its tag or its digest)`},
		{Of: Container{Name: "-c", Image: "a"}, Err: `name: "-c" is not a valid container name`},
		{Of: Container{Name: "c", Image: "-v/:/a"}, Err: `image: "image" cannot begin with a dash`},
		{Of: Container{Name: "c", Image: "a", Env: map[string]string{"A": "1\n2"}}, Err: `env.A: "env.A" must be one line, without NUL bytes`},
		{Of: Container{Name: "c", Image: "a", Env: map[string]string{"A=": "1"}}, Err: `env: "A=" is not a valid variable name`},
		{Of: Container{Name: "c", Image: "a", Labels: map[string]string{labelName: "x"}}, Err: `labels: "io.ccm-push.made" is not a valid label`},
		{Of: Container{Name: "c", Image: "a", Enable: new(bool)}, Err: `enable: "enable" is only valid with provider: quadlet (write provider: quadlet, or restart: always)`},
		{Of: Container{Name: "c", Image: "a", Provider: quadlet, Enable: new(bool), Command: []string{"a", "%$;"}, Ports: []string{"80:80"}}},
		{Of: Container{Name: "c", Image: "a", Provider: quadlet, Volumes: []string{"/a:/b", "/50%:/b"}}, Err: `volumes[1]: with quadlet, the property "volumes[1]" cannot contain any of the characters %$\"', and cannot begin or end with a space`},
		{Of: Container{Name: "c", Image: "a", Provider: quadlet, Command: []string{"find", ";"}}, Err: "command[1]: with quadlet, no word of a command can be a semicolon: have sh -c run it"},
		{Of: Container{Name: "c", Image: "a", Options: []string{"-v"}}, Err: `options[0]: "-v" does not begin with two dashes`},
		{Of: Container{Name: "c", Image: "a", Options: []string{"--env=TOKEN=secret"}}, Err: "options[0]: the option --env has a property (write env)"},
		{Of: Container{Name: "c", Image: "a", Options: []string{"--env-file=/etc/app.env", "--memory-swap=1g", "--network=second"}}},
		{Of: Container{Name: "c", Image: "a b"}, Err: `image: "a b" has a space, which is not allowed in "image"`},
		{Of: Container{Name: "c", Image: "a", Memory: "lots"}, Err: `memory: "lots" is not a valid amount of memory (write one such as 512m or 2g)`},
		{Of: Container{Name: "c", Image: "a", CPUs: "many"}, Err: `cpus: "many" is not a valid number of processors (write one such as "1.5")`},
		{Of: Container{Name: "c", Image: "a", Memory: "1.5GiB", CPUs: "0.25"}},
		{Of: Container{Name: "c", Image: "a", Ports: []string{
			"80", "80/udp", "8080:80", "127.0.0.1:8080:80/tcp", "127.0.0.1::80", "[::1]:8080:80", "8000-8010:9000-9010/SCTP",
		}}},
		{Of: Container{Name: "c", Image: "a", Volumes: []string{"/data", "/srv:/data", "/srv:/data:ro,Z", "shop:/data"}}},
	})
}

func TestValidatePlaces(t *testing.T) {
	for _, port := range []string{"", "99999:80", "80:99999", "http:80", "127.0.0.1:80", "80:80/icmp", "::1:80:80", "80:80\n[Service]"} {
		err := (&Container{Name: "c", Image: "a", Provider: quadlet, Ports: []string{port}}).Validate()
		require.ErrorContains(t, err, fmt.Sprintf("ports[0]: %q is not a valid port mapping (write 8080:80, 127.0.0.1:8080:80 or 8080:80/udp)", port))
	}
	for _, volume := range []string{"", "data", "srv:data", "./srv:/data", ":/data", "/srv:/data\nExec=/bin/sh"} {
		err := (&Container{Name: "c", Image: "a", Provider: quadlet, Volumes: []string{volume}}).Validate()
		require.ErrorContains(t, err, fmt.Sprintf("volumes[0]: %q is not a valid volume (write /srv/shop:/data with absolute paths, or the name of a volume before the colon)", volume))
	}
}

// TestRecurs checks that a new image in the registry is not drift, but an image that the host lacks is.
func TestRecurs(t *testing.T) {
	for _, provider := range []string{podman, quadlet} {
		root := modtest.Root(t)
		modtest.Build(t, root, withQuadlet(skopeo, modtest.Node{Path: "state/registry-app_1", Text: "newer\n"}))
		for image, recurs := range map[string]bool{"app:1": true, "none": false} {
			c := &Container{Name: "c", Ensure: running, Provider: provider, Image: image}
			if recurs {
				c.Pull = always
			}
			plan, err := c.Check(t.Context(), modules.ReadOnly(modtest.RootedHost(root, modtest.Host())))
			require.NoError(t, err)
			require.Equal(t, recurs, c.Recurs(plan), image)
		}
	}
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, there(ofApp, true)), &Container{Name: "c"}, `{"ensure":"running","name":"c","image":"app:1","image_id":"id-of-app:1","made":{"image":"app:1","env":["A"],"ports":["80:80"]}}`)
}
