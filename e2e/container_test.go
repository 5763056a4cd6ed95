//go:build e2e

package e2e

import "testing"

// packagesBeside are what hosts have in addition that few tests need; all of these name the same, so that one image does.
const packagesBeside = "FLEET_PACKAGES=python3,python3-apt,podman,crun"

// containerTrip has podman make containers of an image of this host's own: there are no registries. Its hosts hand no
// cgroups on, have no iptables, and may make no devices.
var containerTrip = roundTrip{
	maybe: true,
	prepare: `printf '[storage]\ndriver="vfs"\nrunroot="/run/containers/storage"\ngraphroot="/var/lib/containers/storage"\n' >/etc/containers/storage.conf
podman rm -f -a >/dev/null; cd /
tar -ch bin/sleep lib64/ld-linux-x86-64.so.2 lib/x86_64-linux-gnu/libc.so.6 | podman import -q - localhost/e2e:1 >/dev/null`,
	site: `    - container:
        - defaults: {image: "localhost/e2e:1", network: host, options: [--cgroups=disabled, --stop-timeout=0]}
        - e2e-app: {command: [/bin/sleep, "1000"], env: {A: "it's \"one\"", B: "#2"}, volumes: ["/srv:/data:ro", "/dev:/dev"], labels: {of: an e2e}, restart: on-failure}
        - e2e-idle: {command: [/bin/sleep, "1"], ensure: stopped}
        - e2e-gone: {ensure: absent}
`,
	state: `for c in $(podman ps -a --format '{{.Names}}' | sort); do podman inspect $c --format '{{.Name}} {{.State.Running}} {{.Config.Cmd}} {{len .HostConfig.Binds}} {{.HostConfig.RestartPolicy.Name}} {{.Config.Labels.of}}'
podman inspect $c --format '{{range .Config.Env}}{{println .}}{{end}}' | grep '^[AB]='; done; :`,
	want: "e2e-app true [/bin/sleep 1000] 2 on-failure an e2e\nA=it's \"one\"\nB=#2\n" +
		"e2e-idle false [/bin/sleep 1] 0  <no value>\n",
	drift: `podman stop -t 0 e2e-app; podman rm -f e2e-idle`,
}

// TestFleetContainer plays the trip with the real podman.
func TestFleetContainer(t *testing.T) {
	f := leaseFleet(t)
	up := f.command("up", "1", "--systemd")
	up.Env = append(up.Env, packagesBeside)
	outputOf(t, up)
	t.Cleanup(func() { f.tool("down", "s001") })
	write(t, f.path("root.yaml"), f.tool("inventory"))
	trip := containerTrip
	trip.host = "s001"
	trip.on(t, f, "-i", "root.yaml")
}
