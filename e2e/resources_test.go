//go:build e2e

package e2e

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bringing writes a site whose play brings along a program, a provider and a file of
// so many bytes.
func (f *fleet) bringing(large int) {
	bytes := make([]byte, large)
	rand.Read(bytes)
	for name, text := range map[string]string{
		"note.dsc.resource.yaml": `
$schema: https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json
type: E2e/Note
version: 1.0.0
get: {executable: ./note.sh, args: [get]}
set: {executable: ./note.sh, args: [set, {jsonInputArg: --input}]}
schema: {embedded: {type: object, properties: {text: {type: string}}}}
`,
		"note.sh": `#!/bin/sh
test -s lib/large || exit 3
case $1 in
get) printf '{"text":"%s"}\n' "$(cat /etc/e2e-note 2>/dev/null)";;
set) printf %s "$3" | sed 's/.*"text":"//; s/".*//' >/etc/e2e-note;;
esac
`,
		"providers/toy.yaml": "provider: {type: toy, name: e2e, invoke: json, actions: [get], suitable: true, attributes: {name: {}, ensure: {type: 'enum[present, absent]'}}}\n",
		"providers/toy.prov": "#!/bin/sh\ncat >/dev/null\necho '{\"resources\":[{\"name\":\"a\",\"ensure\":\"present\"}]}'\n",
		"lib/large":          string(bytes),
	} {
		path := f.path(filepath.Join("resources", name))
		require.NoError(f, os.MkdirAll(filepath.Dir(path), 0o755))
		write(f, path, text)
	}
	write(f, f.path("brings.yaml"), `
hosts: h001
become: true
ccm:
  resources:
    - dsc: [greeting: {type: E2e/Note, properties: {text: hello}}]
    - ral: [a: {provider: toy::e2e, properties: {ensure: present}}]
`)
}

// everyTime lists what a run could have written: names, modes and times.
const everyTime = "find /root/.cache/ccm-push/resources -printf '%p %M %T@ %s\\n' | sort"

// TestFleetResources sends the folder once, does not send it in the next run, and finds nothing of it after clean.
func TestFleetResources(t *testing.T) {
	f := startFleet(t)
	f.sh("h001", "rm -rf /root/.cache /run/ccm-push /etc/e2e-note; mkdir -p -m 700 /root/.cache /home/deploy/.cache; chown deploy: /home/deploy/.cache; "+
		"su deploy -s /bin/sh -c 'sudo -n true'") // sudo's own files are not ours
	before := f.sh("h001", everyFile)
	f.bringing(1 << 20)
	r := f.push("-i", "deploy.yaml", "--check", "brings.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "1 would change, 1 stable")
	require.False(t, f.holds("h001", "test -e /etc/e2e-note"))
	first := f.sh("h001", everyTime)
	require.Contains(t, first, "/files/lib/large -r-------- ")
	require.Contains(t, first, "/files/note.sh -r-x------ ")

	r = f.push("-i", "deploy.yaml", "brings.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "1 changed, 1 stable")
	require.True(t, f.holds("h001", "grep -qx hello /etc/e2e-note"))
	r = f.push("-i", "deploy.yaml", "brings.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "0 changed, 2 stable")
	require.Equal(t, first, f.sh("h001", everyTime), "a later run has written")

	r = f.push("-i", "deploy.yaml", "-b", "footprint", "h001")
	r.requireCode(t, 0)
	require.Regexp(t, `/root/\.cache/ccm-push/resources/[0-9a-f]{64}/files +1\.[0-9] MiB in all `, r.stdout)
	f.push("-i", "deploy.yaml", "-b", "clean", "h001").requireCode(t, 0)
	f.sh("h001", "rm /etc/e2e-note")
	require.Equal(t, lines(before), lines(f.sh("h001", everyFile)))
}

// TestFleetResourcesOnAFullDisk expects an error that names the missing room, and no partial folder.
func TestFleetResourcesOnAFullDisk(t *testing.T) {
	f := startFleet(t)
	f.sh("h001", "rm -rf /root/.cache; mkdir -p -m 700 /root/.cache/ccm-push; mount -t tmpfs -o size=24m,mode=700 tmpfs /root/.cache/ccm-push")
	t.Cleanup(func() { f.sh("h001", "umount /root/.cache/ccm-push") })
	f.bringing(20 << 20)
	r := f.push("-i", "deploy.yaml", "brings.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "no space left on device")
	require.Contains(t, r.stdout, "the folder resources/ of the play")
	require.Empty(t, strings.TrimSpace(f.sh("h001", "find /root/.cache/ccm-push/resources -mindepth 1")))
}
