//go:build e2e

package e2e

import (
	"fmt"
	"testing"
)

// startBeside starts s001 and the given hosts, with extra packages that few tests need: all of them share one image.
func startBeside(t *testing.T, hosts ...string) *fleet {
	t.Helper()
	f := leaseFleet(t)
	up := f.command("up", fmt.Sprint(len(hosts)), "--systemd")
	up.Env = append(up.Env, "FLEET_PACKAGES=python3,python3-apt,python3-pip,python3-venv,podman,crun,ufw")
	outputOf(t, up)
	t.Cleanup(func() { f.tool(append([]string{"down"}, hosts...)...) })
	write(t, f.path("root.yaml"), f.tool("inventory"))
	return f
}

// podmanGenerator makes services of quadlet files, which podman 4.3 does not support. It does only what the test needs.
// It reads the keywords of quadlet and passes them on.
const podmanGenerator = `#!/bin/sh
for file in /etc/containers/systemd/*.container; do
	[ -e "$file" ] || continue
	name=${file##*/}; name=${name%.container}
	get() { sed -n "s/^$1=//p" "$file"; }
	args=$(sed -n 's/^Volume=/--volume /p; s/^Network=/--network /p; s/^Label=/--label /p; s/^EnvironmentFile=/--env-file /p; s/^PodmanArgs=//p' "$file" | tr '\n' ' ')
	{
		sed 's/^\[Container\]/[X-Container]/' "$file"
		printf '[Unit]\nSourcePath=%s\n[Service]\nType=notify\nNotifyAccess=all\nKillMode=mixed\nDelegate=yes\n' "$file"
		echo "ExecStart=/usr/bin/podman run --name=$(get ContainerName) --replace --rm --cgroups=split --sdnotify=conmon -d $args $(get Image) $(get Exec)"
		echo "ExecStop=/usr/bin/podman rm -f -i $(get ContainerName)"
	} >"$1/$name.service"
	wanted=$(get WantedBy)
	[ -z "$wanted" ] || { mkdir -p "$1/$wanted.wants"; ln -sf "../$name.service" "$1/$wanted.wants/"; }
done
`

// containerTrip has podman make containers of an image of this host's own: there are no registries. Its hosts hand no
// cgroups on, have no iptables, and may make no devices.
var containerTrip = roundTrip{
	maybe: true,
	prepare: "cat >/usr/lib/systemd/system-generators/podman-system-generator <<'END'\n" + podmanGenerator + `END
chmod 755 /usr/lib/systemd/system-generators/podman-system-generator
printf '[storage]\ndriver="vfs"\nrunroot="/run/containers/storage"\ngraphroot="/var/lib/containers/storage"\n' >/etc/containers/storage.conf
podman rm -f -a >/dev/null; cd /
tar -ch bin/sh bin/sleep lib64/ld-linux-x86-64.so.2 lib/x86_64-linux-gnu/libc.so.6 | podman import -q - localhost/e2e:1 >/dev/null`,
	site: `    - container:
        - defaults: {image: "localhost/e2e:1", network: host, options: [--cgroups=disabled, --stop-timeout=0]}
        - e2e-app: {command: [/bin/sleep, "1000"], env: {A: "it's \"one\"", B: "#2"}, volumes: ["/srv:/data:ro", "/dev:/dev"], labels: {of: an e2e}, restart: on-failure}
        - e2e-idle: {command: [/bin/sleep, "1"], ensure: stopped}
        - e2e-gone: {ensure: absent}
        - e2e-unit: {provider: quadlet, command: [/bin/sh, -c, 'test "$A" = "100%" && exec sleep 1000'], env: {A: "100%", B: "#2"}, volumes: ["/srv:/data:ro", "/dev:/dev"], labels: {of: an e2e}, restart: on-failure}
        - e2e-rest: {provider: quadlet, command: [/bin/sleep, "1"], ensure: stopped}
    - service: [e2e-unit: {}]
`,
	state: `for c in $(podman ps -a --format '{{.Names}}' | sort); do podman inspect $c --format '{{.Name}} {{.State.Running}} {{.Config.Cmd}} {{len .HostConfig.Binds}} {{.HostConfig.RestartPolicy.Name}} {{.Config.Labels.of}}'
podman inspect $c --format '{{range .Config.Env}}{{println .}}{{end}}' | grep '^[AB]=' | sort; done
systemctl is-active e2e-unit e2e-rest; ls /run/systemd/generator/multi-user.target.wants 2>/dev/null | grep e2e; ls -l /etc/containers/systemd 2>/dev/null | sed -n 's/ .* / /p'`,
	want: "e2e-app true [/bin/sleep 1000] 2 on-failure an e2e\nA=it's \"one\"\nB=#2\n" +
		"e2e-idle false [/bin/sleep 1] 0  <no value>\n" +
		"e2e-unit true [/bin/sh -c test \"$A\" = \"100%\" && exec sleep 1000] 2  an e2e\nA=100%\nB=#2\n" +
		"active\ninactive\ne2e-unit.service\n-rw-r--r-- e2e-rest.container\n-rw-r--r-- e2e-unit.container\n-rw------- e2e-unit.env\n",
	drift: `podman stop -t 0 e2e-app; podman rm -f e2e-idle; systemctl stop e2e-unit; echo >>/etc/containers/systemd/e2e-rest.container`,
}

// TestFleetContainer plays the trip with the real podman.
func TestFleetContainer(t *testing.T) {
	f := startBeside(t, "s001")
	trip := containerTrip
	trip.host = "s001"
	trip.on(t, f, "-i", "root.yaml")
}
